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
		{find: regexp.MustCompile(`(://)[^/\s:@"']+:[^/\s@"']+@`), with: "${1}" + Mark + "@"},
		// ?key=..., &access_token=...
		{find: regexp.MustCompile(`(?i)([?&](?:key|api[_-]?key|access[_-]token|refresh[_-]token|id[_-]token|token|secret|client[_-]secret|signature|sig|password)=)[^&\s"'<>\\]+`),
			with: "${1}" + Mark},
		// Authorization: Bearer ..., also inside prose
		{find: regexp.MustCompile(`(?i)\b(bearer|basic|dpop)(\s+|%20)[A-Za-z0-9._~+/=-]{6,}`), with: "${1}${2}" + Mark},
		// "api_key": "...", x-api-key: ..., client_secret=...
		{find: regexp.MustCompile(`(?i)(["']?\b[\w-]*(?:api[_-]?key|goog-api-key|access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|client[_-]?secret|secret[_-]?key|password|cookie|authorization)["']?\s*[:=]\s*["']?)(?:bearer\s+)?[^\s"',;}&\\]{4,}`),
			with: "${1}" + Mark},
		// "Incorrect API key provided: ...", "invalid token ..."
		{find: regexp.MustCompile(`(?i)\b((?:api[ _-]?key|key|token|credential)(?: provided| given| supplied)?["'` + "`" + `]?\s*[:=]\s*["'` + "`" + `]?)[^\s"',;` + "`" + `\\]{4,}`),
			with: "${1}" + Mark},
		// JSON web tokens
		{find: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]+){1,4}`), with: Mark},
		// keys that begin as the vendors' do
		{find: regexp.MustCompile(`\b(?:sk|rk|pk|xai|gsk|csk|tgp|fw|fpk|hf|nvapi|pplx|r8|ark|sess|whsec|tp)[-_][A-Za-z0-9_-]{4,}`), with: Mark},
		{find: regexp.MustCompile(`\b(?:AIza[A-Za-z0-9_-]{10,}|ya29\.[A-Za-z0-9._-]+|1//[A-Za-z0-9._-]{10,}|A(?:KIA|SIA)[A-Z0-9]{12,})`), with: Mark},
		{find: regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{10,}|github_pat_[A-Za-z0-9_]{10,}|glpat-[A-Za-z0-9_-]{10,})`), with: Mark},
		// what a vendor has already masked in part: sk-a***yz
		{find: regexp.MustCompile(`[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9_-]*`), with: Mark},
		// identities
		{find: regexp.MustCompile(`[A-Za-z0-9._%+-]+(?:@|%40)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`), with: Mark},
		{find: regexp.MustCompile(`(?i)\b(?:org|proj|acct|team|workspace|wrkspc|user)[-_][A-Za-z0-9]{3,}\b`), with: Mark, only: looksLikeID},
		{find: regexp.MustCompile(`(?i)\b((?:organization|organisation|org|team|workspace|account|project|user)(?:[ _-]?id)?["'` + "`" + `]?\s*[:=]?\s*["'` + "`" + `]?)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
			with: "${1}" + Mark},
	}
})

// looksLikeID tells "org-123" from "org-wide".
func looksLikeID(m string) bool {
	return len(m) >= 24 || strings.ContainsAny(m, "0123456789")
}
