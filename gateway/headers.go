package gateway

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
)

// Header rules, both directions. Names are canonical. What a client sends
// passes unless it belongs to a family that speaks of the hop, of who is
// calling, of the way that the request took or of an organisation; an unknown
// header is the business of client and upstream.

// travels says that a client's header may go to an upstream.
func travels(name string) bool {
	if strings.Contains(name, "_") { // servers of many languages take it for a hyphen
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	}
	switch name {
	case "Content-Type", "Accept", "User-Agent", "Anthropic-Version", "Idempotency-Key", "X-Idempotency-Key":
		return true
	// The hop (RFC 9110 7.6.1), and what is computed anew for this body.
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Content-Length", "Content-Encoding", "Accept-Encoding", "Content-Md5", "Digest", "Content-Digest", "Host", "Http2-Settings":
		return false
	// Who is calling.
	case "Authorization", "Cookie", "Cookie2", "Api-Key", "X-Api-Key", "X-Goog-Api-Key":
		return false
	// The way here.
	case "Forwarded", "Via", "Cdn-Loop", "True-Client-Ip", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "Client-Ip",
		"X-Request-Start", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "Origin", "Referer", "Dnt", "X-Http-Method-Override",
		"X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url", "Early-Data", "Max-Forwards":
		return false
	// Whose account.
	case "Openai-Organization", "Openai-Project", "Chatgpt-Account-Id", "X-Goog-User-Project":
		return false
	// Merged or defaulted for each account.
	case "Anthropic-Beta":
		return false
	}
	return !hasAnyPrefix(name, "Proxy-", "X-Forwarded-", "X-Original-", "X-Envoy-", "Cf-", "Fly-", "Fastly-", "X-Vercel-",
		"X-Azure-", "X-Appengine-", "Sec-", "Anthropic-Organization", "Anthropic-Workspace", "X-Organization", "Waybill-", "Access-Control-") &&
		!hasAnySuffix(name, "-Key", "-Token", "-Secret", "Authorization", "-Organization", "-Password")
}

// returns says that an upstream's header may go to the client. Limits, retry
// advice, organisations and cookies speak of one account of many.
func returns(name string) bool {
	if strings.Contains(name, "_") {
		name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	}
	switch name {
	case "Content-Type", "Cache-Control", "X-Request-Id", "Request-Id", "Openai-Version", "Openai-Processing-Ms":
		return true
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Content-Encoding", "Date", "Accept-Encoding",
		"Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Authorization", "Location", "Refresh", "Clear-Site-Data":
		return false
	case "Retry-After", "Retry-After-Ms", "X-Should-Retry", "Ratelimit", "Openai-Organization", "Openai-Project", "Chatgpt-Account-Id":
		return false
	case "Via", "Server", "Alt-Svc", "Strict-Transport-Security", "Nel", "Report-To", "Reporting-Endpoints", "Content-Md5", "Digest", "Content-Digest", "Etag":
		return false
	}
	return !hasAnyPrefix(name, "X-Ratelimit", "X-Rate-Limit", "Ratelimit-", "Anthropic-Ratelimit", "Anthropic-Organization", "Anthropic-Workspace",
		"X-Codex-", "X-Quota", "X-Credit", "X-Organization", "X-Team", "X-Account", "X-User", "Proxy-", "Cf-", "Access-Control-", "X-Forwarded-", "Waybill-") &&
		!hasAnySuffix(name, "-Key", "-Token", "-Secret", "Authorization", "-Organization", "-Password")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, p := range suffixes {
		if strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}

// namedByConnection are the further hop-by-hop headers that a message names.
func namedByConnection(h http.Header) []string {
	var names []string
	for _, v := range h["Connection"] {
		if strings.EqualFold(v, "close") || strings.EqualFold(v, "keep-alive") {
			continue
		}
		for name := range strings.SplitSeq(v, ",") {
			if name = textproto.TrimString(name); name != "" {
				names = append(names, textproto.CanonicalMIMEHeaderKey(name))
			}
		}
	}
	return names
}

// outbound are the headers of one attempt: the client's that travel, the
// provider's defaults, the account's own, its credential and the coding asked
// for. Every attempt starts from the client's original ones.
func outbound(in http.Header, u *upstream, d events.Dialect, token string) http.Header {
	h := make(http.Header, len(in)+4)
	for name, values := range in {
		if travels(name) {
			h[name] = values
		}
	}
	for _, name := range namedByConnection(in) {
		delete(h, name)
	}
	if d == events.DialectAnthropic {
		u.betas(h, in)
	} else {
		delete(h, "Anthropic-Version")
	}
	for name, values := range u.Provider.Headers {
		if _, own := h[name]; !own {
			h[name] = values
		}
	}
	for name, values := range u.headers {
		h[name] = values
	}
	if len(h["User-Agent"]) == 0 {
		h["User-Agent"] = userAgent
	}
	h["Accept-Encoding"] = codingsFor(in["Accept-Encoding"])
	if token != "" {
		h[u.auth] = []string{u.authPrefix + token}
	}
	return h
}

var userAgent = []string{"waybill"}

// betas merges the client's beta flags with those that the account needs, each
// once and in order. They are Anthropic's own: an account of another provider
// that speaks the protocol gets none of the client's.
func (u *upstream) betas(h, in http.Header) {
	const name = "Anthropic-Beta"
	_, speaks := u.Provider.Headers["Anthropic-Version"]
	if !speaks {
		return
	}
	sent, own := in[name], u.ownBetas
	if len(sent) == 0 && len(own) == 0 {
		return
	}
	var flags []string
	for _, list := range [...][]string{sent, own} {
		for _, v := range list {
			for flag := range strings.SplitSeq(v, ",") {
				if flag = strings.TrimSpace(flag); flag != "" && !slices.Contains(flags, flag) {
					flags = append(flags, flag)
				}
			}
		}
	}
	if len(flags) > 0 {
		h[name] = []string{strings.Join(flags, ",")}
	}
}

// inbound copies the headers of an answer that may go to the client. A value
// that holds the account's secret goes nowhere.
func inbound(out, from http.Header, token string) {
	for name, values := range from {
		if !returns(name) {
			continue
		}
		if len(token) >= minSecret && holds(values, token) {
			continue
		}
		out[name] = values
	}
	for _, name := range namedByConnection(from) {
		delete(out, name)
	}
}

// minSecret is the length from which a credential can be told from a word.
const minSecret = 6

func holds(values []string, secret string) bool {
	for _, v := range values {
		if strings.Contains(v, secret) {
			return true
		}
	}
	return false
}
