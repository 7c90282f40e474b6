package redact

import (
	"regexp"
	"strings"
	"sync"
)

// shapes is the table of patterns, compiled once.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		// https://user:password@host
		{may: holds("@"), find: regexp.MustCompile(`(://)[^/\s:@"']+:[^/\s@"']+@`), with: "${1}" + Mark + "@"},
		// ?key=..., &access_token=...
		{may: holds("="), find: regexp.MustCompile(`(?i)([?&](?:key|api[_-]?key|access[_-]token|refresh[_-]token|id[_-]token|token|secret|client[_-]secret|signature|sig|password)=)[^&\s"'<>\\]+`),
			with: "${1}" + Mark},
		// Authorization: Bearer ..., also inside prose
		{may: holds("bearer", "basic", "dpop"), find: regexp.MustCompile(`(?i)\b(bearer|basic|dpop)(\s+|%20)[A-Za-z0-9._~+/=-]{6,}`), with: "${1}${2}" + Mark},
		// "api_key": "...", x-api-key: ..., client_secret=...
		{may: assigned("key", "token", "secret", "password", "cookie", "authorization"), find: regexp.MustCompile(`(?i)(["']?\b[\w-]*(?:api[_-]?key|goog-api-key|access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|client[_-]?secret|secret[_-]?key|password|cookie|authorization)["']?\s*[:=]\s*["']?)(?:bearer\s+)?[^\s"',;}&\\]{4,}`),
			with: "${1}" + Mark},
		// "Incorrect API key provided: ...", "invalid token ..."
		{may: assigned("key", "token", "credential"), find: regexp.MustCompile(`(?i)\b((?:api[ _-]?key|key|token|credential)(?: provided| given| supplied)?["'` + "`" + `]?\s*[:=]\s*["'` + "`" + `]?)[^\s"',;` + "`" + `\\]{4,}`),
			with: "${1}" + Mark},
		// JSON web tokens
		{may: holds("eyj"), find: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]+){1,4}`), with: Mark},
		// keys that begin as the vendors' do
		{may: dashed("sk", "rk", "pk", "xai", "gsk", "csk", "tgp", "fw", "fpk", "hf", "nvapi", "pplx", "r8", "ark", "sess", "whsec", "tp"), find: regexp.MustCompile(`\b(?:sk|rk|pk|xai|gsk|csk|tgp|fw|fpk|hf|nvapi|pplx|r8|ark|sess|whsec|tp)[-_][A-Za-z0-9_-]{4,}`), with: Mark},
		{may: holds("aiza", "ya29.", "1//", "akia", "asia"), find: regexp.MustCompile(`\b(?:AIza[A-Za-z0-9_-]{10,}|ya29\.[A-Za-z0-9._-]+|1//[A-Za-z0-9._-]{10,}|A(?:KIA|SIA)[A-Z0-9]{12,})`), with: Mark},
		{may: holds("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"), find: regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{10,}|github_pat_[A-Za-z0-9_]{10,}|glpat-[A-Za-z0-9_-]{10,})`), with: Mark},
		// what a vendor has already masked in part: sk-a***yz
		{may: holds("***"), find: regexp.MustCompile(`[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9_-]*`), with: Mark},
		// identities
		{may: holds("@", "%40"), find: regexp.MustCompile(`[A-Za-z0-9._%+-]+(?:@|%40)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`), with: Mark},
		{may: dashed("org", "proj", "acct", "team", "workspace", "wrkspc", "user"), find: regexp.MustCompile(`(?i)\b(?:org|proj|acct|team|workspace|wrkspc|user)[-_][A-Za-z0-9]{3,}\b`), with: Mark, only: looksLikeID},
		{may: hasUUID, find: regexp.MustCompile(`(?i)\b((?:organization|organisation|org|team|workspace|account|project|user)(?:[ _-]?id)?["'` + "`" + `]?\s*[:=]?\s*["'` + "`" + `]?)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
			with: "${1}" + Mark},
	}
})

// holds: one of the words stands in the text.
func holds(words ...string) func(string) bool {
	return func(lower string) bool {
		for _, w := range words {
			if strings.Contains(lower, w) {
				return true
			}
		}
		return false
	}
}

// dashed: one of the words stands there with a dash or an underscore behind it.
func dashed(words ...string) func(string) bool {
	var out []string
	for _, w := range words {
		out = append(out, w+"-", w+"_")
	}
	return holds(out...)
}

// assigned: behind one of the words, soon, a value is given.
func assigned(words ...string) func(string) bool {
	const soon = 14
	return func(lower string) bool {
		for _, w := range words {
			for rest := lower; ; {
				i := strings.Index(rest, w)
				if i < 0 {
					break
				}
				rest = rest[i+len(w):]
				if strings.ContainsAny(rest[:min(len(rest), soon)], ":=") {
					return true
				}
			}
		}
		return false
	}
}

// hasUUID: four dashes stand where a UUID has them.
func hasUUID(lower string) bool {
	for i := 8; i+15 < len(lower); i++ {
		if lower[i] == '-' && lower[i+5] == '-' && lower[i+10] == '-' && lower[i+15] == '-' {
			return true
		}
	}
	return false
}

// looksLikeID tells "org-123" from "org-wide".
func looksLikeID(m string) bool {
	return len(m) >= 24 || strings.ContainsAny(m, "0123456789")
}
