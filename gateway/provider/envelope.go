package provider

import (
	"bytes"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/gateway/provider/tree"
)

// BodyKind is what an error body is at all.
type BodyKind uint8

// Empty has no bytes, HTML comes from an edge and is never searched for words,
// Text is anything else that is no JSON.
const (
	Empty BodyKind = iota
	JSON
	HTML
	Text
)

// Envelope is an error body in one shape, whatever the provider wraps it in.
type Envelope struct {
	Kind    BodyKind
	Root    tree.Node // the document, one-element arrays and double encoding removed
	Codes   []string  // machine codes, lower case
	Types   []string  // types and status words, lower case
	Quotas  []string  // names of violated quotas, lower case
	Status  int       // a status that the body repeats, 0 when it repeats none
	Message string    // every human text of the error, lower case
	Loose   bool      // the text stood bare or under "detail", not in an error
}

// maxError is how much of an error body is looked at.
const maxError = 64 << 10

// maxNesting is how often an error may be wrapped inside its own message.
const maxNesting = 3

// Normalise brings an error body into one shape. It is pure and total.
func Normalise(a *Answer) Envelope {
	body := bytes.TrimSpace(a.Body[:min(len(a.Body), maxError)])
	e := Envelope{Kind: kindOf(a, body)}
	switch e.Kind {
	case JSON:
		e.Root, _ = tree.Parse(body)
		e.document(e.Root, 0)
	case Text:
		e.Loose = true
		e.say(string(body), 0)
	}
	e.header(a)
	return e
}

func kindOf(a *Answer, body []byte) BodyKind {
	if len(body) == 0 {
		return Empty
	}
	if _, ok := tree.Parse(body); ok {
		return JSON
	}
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if media == "text/html" || media == "application/xhtml+xml" || bytes.HasPrefix(body, []byte("<")) {
		return HTML
	}
	return Text
}

// document reads one JSON value: every envelope met in the wild.
func (e *Envelope) document(n tree.Node, depth int) {
	if items := n.Items(); len(items) > 0 { // [{"error":...}], Vertex
		n = items[0]
		if depth == 0 {
			e.Root = n
		}
	}
	if n.IsString() { // "text"
		e.Loose = true
		e.say(n.Text(), depth)
		return
	}
	if resp := n.Get("response").Get("error"); resp.IsObject() { // response.failed
		e.object(resp, depth)
		return
	}
	e.object(n, depth)
	e.bedrock(n)
	e.businessCode(n.Get("base_resp")) // MiniMax, inside 200
}

// object reads the members of an error object and of those nested in it.
func (e *Envelope) object(n tree.Node, depth int) {
	if depth > maxNesting {
		return
	}
	e.code(n.Get("code"))
	e.details(n)
	inner := n.Get("error")
	switch {
	case inner.IsObject():
		e.object(inner, depth+1)
	case inner.IsString(): // {"code","error":"text"}, xAI; {"error":"text"}
		e.say(inner.Text(), depth)
	}
	e.detail(n.Get("detail"), depth)
	e.kind(n.Get("type"))
	e.kind(n.Get("status"))
	e.kind(n.Get("error_type"))
	e.say(n.Get("message").Text(), depth)
	e.say(n.Get("Message").Text(), depth)
}

// detail is {"detail":"text"} or {"detail":{"code":...}}, the ChatGPT backend.
func (e *Envelope) detail(n tree.Node, depth int) {
	if n.IsString() {
		e.Loose = e.Message == ""
		e.say(n.Text(), depth)
		return
	}
	e.code(n.Get("code"))
	e.kind(n.Get("type"))
	e.say(n.Get("message").Text(), depth)
}

// details are the machine codes beside the main one.
func (e *Envelope) details(n tree.Node) {
	e.code(n.Get("details").Get("error_code"))
	e.code(n.Get("innererror").Get("code"))
	meta := n.Get("metadata")
	e.code(meta.Get("reason"))
	e.code(meta.Get("limit_source"))
	e.kind(meta.Get("error_type"))
	e.kind(meta.Get("provider_code"))
	for _, d := range n.All("details[]") {
		e.code(d.Get("reason"))
		e.quota(d.Get("metadata").Get("quota_limit"))
		for _, v := range d.All("violations[]") {
			e.quota(v.Get("quotaId"))
		}
	}
}

// bedrock types stand in a header, see header, or in "__type": "ns#Name".
func (e *Envelope) bedrock(n tree.Node) {
	t := n.Get("__type").Text()
	if i := strings.LastIndexByte(t, '#'); i >= 0 {
		t = t[i+1:]
	}
	e.addCode(t)
	e.addCode(n.Get(":exception-type").Text())
	e.say(n.Get("payload").Get("message").Text(), maxNesting)
}

func (e *Envelope) businessCode(n tree.Node) {
	if c := n.Get("status_code").Text(); c != "" && c != "0" {
		e.addCode(c)
	}
	e.say(n.Get("status_msg").Text(), maxNesting)
}

// header reads machine codes that stand outside the body.
func (e *Envelope) header(a *Answer) {
	t := a.Header.Get("X-Amzn-Errortype")
	if i := strings.IndexByte(t, ':'); i >= 0 {
		t = t[:i]
	}
	e.addCode(t)
}

// code adds a machine code; a number in the range of HTTP statuses repeats the
// status instead.
func (e *Envelope) code(n tree.Node) {
	text := n.Text()
	if s, err := strconv.Atoi(text); err == nil && s >= 400 && s <= 599 {
		if e.Status == 0 {
			e.Status = s
		}
		return
	}
	e.addCode(text)
}

// addCode adds a code and the parts of one that is joined by a colon: a plan
// suffix (Copilot) or a namespace (xAI).
func (e *Envelope) addCode(code string) {
	code = strings.ToLower(strings.TrimSpace(code))
	if code == "" || len(code) > 128 || slices.Contains(e.Codes, code) {
		return
	}
	e.Codes = append(e.Codes, code)
	if a, b, ok := strings.Cut(code, ":"); ok {
		e.addCode(a)
		e.addCode(b)
	}
}

func (e *Envelope) kind(n tree.Node) {
	if t := strings.ToLower(n.Text()); t != "" && len(t) <= 128 && !slices.Contains(e.Types, t) {
		e.Types = append(e.Types, t)
	}
}

func (e *Envelope) quota(n tree.Node) {
	if q := strings.ToLower(n.Text()); q != "" {
		e.Quotas = append(e.Quotas, q)
	}
}

func (e *Envelope) violates(parts []string) bool {
	for _, q := range e.Quotas {
		if says(q, parts) {
			return true
		}
	}
	return false
}

// say adds human text, and reads what is hidden in it: an error that was
// encoded a second time, a marker, a bracketed business code.
func (e *Envelope) say(text string, depth int) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if depth < maxNesting && strings.HasPrefix(text, "{") {
		if n, ok := tree.Parse([]byte(text)); ok {
			e.object(n, depth+1)
			return
		}
	}
	e.marked(text)
	if e.Message != "" {
		e.Message += "\n"
	}
	e.Message += strings.ToLower(text)
}

// marked finds machine codes inside text: "[WKE=code]" (xAI), "[1310][...]"
// (z.ai's Anthropic surface), "... (1008)" (MiniMax).
func (e *Envelope) marked(text string) {
	if _, after, ok := strings.Cut(text, "[WKE="); ok {
		if code, _, ok := strings.Cut(after, "]"); ok {
			e.addCode(code)
		}
	}
	if strings.HasPrefix(text, "[") {
		if code, _, ok := strings.Cut(text[1:], "]"); ok && isBusinessCode(code) {
			e.addCode(code)
		}
	}
	if open := strings.LastIndexByte(text, '('); open >= 0 && strings.HasSuffix(text, ")") {
		if code := text[open+1 : len(text)-1]; isBusinessCode(code) {
			e.addCode(code)
		}
	}
}

func isBusinessCode(s string) bool {
	if len(s) < 4 || len(s) > 5 {
		return false
	}
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}
