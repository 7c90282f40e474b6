package dialect

import (
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// maxName bounds model names, ids and session hints, in bytes.
const maxName = 512

// Head is what the gateway needs of a request beside its body.
type Head struct {
	ContentType string
	Model       string // {model} of the path, decoded once
	ID          string // {id} of the path, decoded once
	Query       string // as the client spelt it, without the question mark
}

// Reader reads one request's body as it passes and finds what the gateway must
// know. Write may stop early with an *Error; Request gives the verdict on the
// whole.
type Reader struct {
	op    *Operation
	head  Head
	json  jsonscan.Scanner
	form  *form
	fault *Error
	spans []Span
	first [1]Span
}

// Fields of a request body; the order is requestShape's.
const (
	inModel = iota
	inStream
	inStreamFormat
	inCacheKey
	inUser
	inPrevious
	inConversation
	inConversationID
	inMetadata
	inMetadataUser
	inCachedContent
	inRequests
	inRequestsEach
	inRequestsModel
	inGenerate
	inGenerateModel
)

const keepName = 6*maxName + 2 // every character escaped

var requestShape = jsonscan.NewShape(
	jsonscan.Field{Parent: jsonscan.Root, Name: "model", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "stream"},
	jsonscan.Field{Parent: jsonscan.Root, Name: "stream_format", Keep: 64},
	jsonscan.Field{Parent: jsonscan.Root, Name: "prompt_cache_key", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "user", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "previous_response_id", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "conversation", Keep: keepName},
	jsonscan.Field{Parent: inConversation, Name: "id", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "metadata"},
	jsonscan.Field{Parent: inMetadata, Name: "user_id", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "cachedContent", Keep: keepName},
	jsonscan.Field{Parent: jsonscan.Root, Name: "requests"},
	jsonscan.Field{Parent: inRequests, Name: jsonscan.Each},
	jsonscan.Field{Parent: inRequestsEach, Name: "model"},
	jsonscan.Field{Parent: jsonscan.Root, Name: "generateContentRequest"},
	jsonscan.Field{Parent: inGenerate, Name: "model"},
)

// Reader begins the reading of a request of this operation. It fails for a
// path that names no model or id.
func (o *Operation) Reader(head Head) (*Reader, error) {
	r := &Reader{op: o, head: head}
	r.spans = r.first[:0]
	if o.Model == InPath || o.Local && head.Model != "" {
		if err := r.pathModel(); err != nil {
			return nil, err
		}
	}
	if o.Tied {
		if err := segment("id", head.ID); err != nil {
			return nil, err
		}
	}
	if o.Model == Nowhere {
		return r, nil
	}
	var media string
	var params map[string]string
	if head.ContentType != "application/json" { // the common case costs nothing
		media, params, _ = mime.ParseMediaType(head.ContentType)
	}
	switch {
	case media == "multipart/form-data" && o.Model == InForm:
		if params["boundary"] == "" {
			return nil, invalid("", "multipart body without a boundary in Content-Type")
		}
		r.form = newForm(params["boundary"])
	case strings.HasPrefix(media, "multipart/"), media == "application/x-www-form-urlencoded" && o.Model == InForm:
		return nil, &Error{Status: 415, Code: "unsupported_media_type", Message: "this operation does not take " + media}
	default:
		r.json.Reset(requestShape)
		r.json.Notify = r.note
	}
	return r, nil
}

// note collects the places of model names.
func (r *Reader) note(field int) {
	m := r.json.Member(field)
	if m.Kind != jsonscan.String {
		return
	}
	switch field {
	case inModel, inRequestsModel, inGenerateModel:
		if r.op.Model != InPath && field != inModel {
			return // these two are Gemini's
		}
		r.spans = append(r.spans, Span{m.From, m.To})
	}
}

// Write reads the next bytes of the decoded body.
func (r *Reader) Write(p []byte) (int, error) {
	switch {
	case r.op.Model == Nowhere:
		return len(p), nil
	case r.fault != nil:
	case r.form != nil:
		r.fault = r.form.write(p)
	default:
		r.writeJSON(p)
	}
	if r.fault != nil {
		return 0, r.fault
	}
	return len(p), nil
}

func (r *Reader) writeJSON(p []byte) {
	n := r.json.Feed(p)
	switch {
	case r.json.Fault() != jsonscan.FaultNone:
		r.fault = r.badJSON()
	case n < len(p) && !blank(p[n:]):
		r.fault = invalid("", "the request body %s", jsonscan.FaultTrailing)
	}
}

func (r *Reader) badJSON() *Error {
	return invalid("", "the request body %s (at byte %d)", r.json.Fault(), r.json.Offset())
}

// Request is what was found in the whole body. The error is an *Error.
func (r *Reader) Request() (Request, error) {
	if r.fault != nil {
		return Request{}, r.fault
	}
	q := Request{}
	var err *Error
	switch {
	case r.op.Model == Nowhere:
		q.Model, q.Tie = r.head.Model, r.head.ID
		q.Stream = r.op.Streams == ByQuery && queryValue(r.head.Query, "stream") == "true"
	case r.form != nil:
		err = r.fromForm(&q)
	default:
		err = r.fromJSON(&q)
	}
	if err != nil {
		return Request{}, err
	}
	q.Form = r.answer(q.Stream)
	return q, nil
}

// answer is the form of the answer asked for.
func (r *Reader) answer(stream bool) Form {
	switch {
	case !stream:
		return r.op.Answer
	case r.op.Streams == ByMethod && queryValue(r.head.Query, "alt") != "sse":
		return Array
	}
	return SSE
}

func (r *Reader) fromJSON(q *Request) *Error {
	if r.json.Close() != jsonscan.FaultNone {
		return r.badJSON()
	}
	if r.op.Model == InPath {
		q.Model, q.resource = r.head.Model, true
	} else if err := r.bodyModel(q); err != nil {
		return err
	}
	q.At = r.spans
	switch r.op.Streams {
	case ByMember:
		q.Stream = r.json.Member(inStream).Kind == jsonscan.True
	case ByFormat:
		q.Stream = r.json.String(inStreamFormat) == "sse"
	case ByMethod:
		q.Stream = true
	}
	q.Session = r.session()
	if strings.HasPrefix(r.op.upstream, "/responses") {
		q.Tie = hint(r.json.String(inPrevious))
	}
	return nil
}

func (r *Reader) bodyModel(q *Request) *Error {
	m := r.json.Member(inModel)
	switch {
	case m.Times > 1:
		return invalid("model", "the request body names its model %d times", m.Times)
	case m.Kind == jsonscan.Absent && r.op.Default != "":
		q.Model = r.op.Default
		at := r.json.Object() + 1
		r.spans = append(r.spans, Span{at, at})
		if q.wrap = [2]string{`"model":`, `,`}; r.json.Empty() {
			q.wrap[1] = ""
		}
		return nil
	case m.Kind == jsonscan.Absent:
		return invalid("model", "you must provide a model parameter")
	case m.Kind != jsonscan.String:
		return invalid("model", "model must be a string")
	}
	q.Model = r.json.String(inModel)
	return checkModel(q.Model)
}

// session is the first hint that the dialect gives.
func (r *Reader) session() string {
	switch r.op.Dialect {
	case events.DialectAnthropic:
		return hint(r.json.String(inMetadataUser))
	case events.DialectGemini:
		return hint(r.json.String(inCachedContent))
	}
	for _, field := range [...]int{inCacheKey, inConversation, inConversationID, inMetadataUser, inUser} {
		if s := hint(r.json.String(field)); s != "" {
			return s
		}
	}
	return ""
}

// hint drops a hint that is too long to be one.
func hint(s string) string {
	if len(s) > maxName {
		return ""
	}
	return s
}

// checkModel refuses names that no upstream has and no log should hold.
func checkModel(name string) *Error {
	switch {
	case strings.TrimSpace(name) == "":
		return invalid("model", "model must not be empty")
	case len(name) > maxName || !utf8.ValidString(name):
		return invalid("model", "model must be at most %d bytes of UTF-8", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return invalid("model", "model must not hold control characters")
	}
	return nil
}

func blank(p []byte) bool {
	for _, c := range p {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}
