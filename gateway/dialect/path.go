package dialect

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/waybill/waybill/events"
)

// Base is an account's base URL, parsed once. It has the shape that the
// official SDK of the dialect takes: OpenAI's holds the version (/v1),
// Anthropic's and Gemini's do not; each form is understood for each (B152).
type Base struct {
	url     url.URL
	raw     string // encoded path without a trailing slash
	version bool   // some segment of the path is a version
	ends    bool   // the last one is
}

// ParseBase reads a base URL: http or https, a host, no credentials, no fragment.
func ParseBase(s string) (Base, error) {
	u, err := url.Parse(s)
	if err != nil {
		return Base{}, fmt.Errorf("read base URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return Base{}, fmt.Errorf("read base URL: scheme %q is neither http nor https", u.Scheme)
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return Base{}, fmt.Errorf("read base URL: it must name a host, and no user or fragment")
	}
	b := Base{url: *u, raw: strings.TrimRight(u.EscapedPath(), "/")}
	for part := range strings.SplitSeq(b.raw, "/") {
		b.ends = isVersion(part)
		b.version = b.version || b.ends
	}
	return b, nil
}

// isVersion knows v1, v4, v1beta, v1alpha2.
func isVersion(s string) bool {
	if len(s) < 2 || s[0] != 'v' || s[1]-'0' > 9 {
		return false
	}
	rest := strings.Trim(s[1:], "0123456789")
	return rest == "" || rest == "beta" || rest == "alpha"
}

// URL is where an operation is asked upstream. model is the name as sent, head
// the client's: of its query everything but a credential is kept.
func (o *Operation) URL(base Base, model string, head Head) (*url.URL, error) {
	tail := o.upstream
	switch {
	case o.Tied:
		tail += url.PathEscape(head.ID) + o.suffix
	case o.Dialect == events.DialectGemini:
		if err := segment("model", model); err != nil {
			return nil, err
		}
		tail = "/" + resource(model) + o.upstream
	}
	u := base.url
	raw := base.raw + o.version(base) + tail
	path, err := url.PathUnescape(raw)
	if err != nil {
		return nil, fmt.Errorf("join path: %w", err)
	}
	u.Path, u.RawPath = path, raw
	u.RawQuery = query(base.url.RawQuery, head.Query)
	return &u, nil
}

// version is the version segment that the base lacks.
func (o *Operation) version(base Base) string {
	switch {
	case o.Dialect == events.DialectGemini && !base.version:
		return "/v1beta"
	case o.Dialect == events.DialectAnthropic && !base.ends,
		o.Dialect == events.DialectOpenAI && !base.version && !base.unversioned():
		return "/v1"
	}
	return ""
}

// unversioned knows the surfaces of OpenAI's protocol that have no version:
// Google's and Azure's end in /openai, the ChatGPT backend's in /codex.
func (b *Base) unversioned() bool {
	return strings.HasSuffix(b.raw, "/openai") || strings.HasSuffix(b.raw, "/codex")
}

// resource is a model as one escaped segment below models/; a tuned model is a
// collection of its own.
func resource(model string) string {
	if id, tuned := strings.CutPrefix(model, "tunedModels/"); tuned {
		return "tunedModels/" + url.PathEscape(id)
	}
	return "models/" + url.PathEscape(bare(model))
}

// query joins the base's own query (api-version) and the client's without its
// credential. What is kept keeps its spelling and order.
func query(base, client string) string {
	kept := make([]string, 0, 4)
	if base != "" {
		kept = append(kept, base)
	}
	for part := range strings.SplitSeq(client, "&") {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); part == "" || err != nil || decoded == "key" {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}

// queryValue is the first value of a query's parameter.
func queryValue(query, name string) string {
	for part := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(part, "="); key == name {
			value, _ = url.QueryUnescape(value)
			return value
		}
	}
	return ""
}

// pathModel checks the model in the client's path and drops its models/ prefix.
func (r *Reader) pathModel() error {
	r.head.Model = bare(r.head.Model)
	if err := segment("model", r.head.Model); err != nil {
		return err
	}
	return nil
}

// segment refuses a name that must not become part of a path (B145): whatever
// passes is sent as exactly one escaped segment.
func segment(param, name string) error {
	if err := checkModel(name); err != nil {
		err.Param, err.Message = param, strings.Replace(err.Message, "model", param, 1)
		return err
	}
	if strings.ContainsAny(name, "?#%\\;") {
		return invalid(param, "%s must not hold any of ? # %% \\ ;", param)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return invalid(param, "%s must not hold empty or dot segments", param)
		}
	}
	return nil
}
