package dialect

import (
	"net/http"

	"github.com/waybill/waybill/events"
)

// Place says where a request names its model.
type Place uint8

// InBody: a JSON member. InForm: a field of a multipart form. InPath: a path
// segment. Nowhere: the operation has no model; it belongs to a stored response
// (Tied) or is answered by Waybill itself (Local).
const (
	Nowhere Place = iota
	InBody
	InForm
	InPath
)

// Streams says how a request asks for a stream.
type Streams uint8

// ByMember: "stream": true in the body or form. ByFormat: "stream_format":
// "sse". ByMethod: the operation itself is one. ByQuery: ?stream=true.
const (
	NoStream Streams = iota
	ByMember
	ByFormat
	ByMethod
	ByQuery
)

// Form is the shape of an answer's bytes.
type Form uint8

// JSON is one object; SSE an event stream; Array a JSON array that grows
// (Gemini without alt=sse); Text and Binary whatever the media type says.
const (
	JSON Form = iota
	SSE
	Array
	Text
	Binary
)

// Operation is one row of what clients may ask: (dialect, operation). Rows are
// shared and never change.
type Operation struct {
	Name    string // "chat", stable, for logs and tables; unique within the dialect
	Dialect events.Dialect
	Method  string
	// Path is the client's path as a gorilla/mux template: {model:.+} and {id}
	// are its variables. Gemini's v1beta is a variable {version} too.
	Path    string
	Model   Place
	Default string // model when a request names none, "" when it must
	Streams Streams
	Answer  Form // of an answer that is no stream
	Tied    bool // {id} names a stored response: the account that made it serves
	Local   bool // Waybill answers by itself: model lists

	upstream string // path below the versioned base URL, up to the id of a tied one
	suffix   string // path after the id
	kind     kind
}

// Free says that the operation itself uses no tokens, whatever its answer tells:
// it counts some, or it is about a response that was made, and told them, before.
func (o *Operation) Free() bool {
	switch o.kind {
	case kindMessageCount, kindContentCount, kindModeration:
		return true
	}
	return o.Tied || o.Name == "responses.input_tokens"
}

// kind says which frames and bodies an operation's answers are made of.
type kind uint8

const (
	kindAny kind = iota // any JSON object that is no error
	kindChat
	kindCompletion
	kindResponse
	kindStored // a stored response, whose own error is no failure of the call
	kindEmbeddings
	kindImages
	kindSpeech
	kindTranscript
	kindModeration
	kindMessage
	kindMessageCount
	kindContent
	kindContentCount
	kindContentEmbedding
	kindContentEmbeddings
)

// Operations is the table of all operations, in the order in which routes must
// be tried.
func Operations() []*Operation { return table() }

func table() []*Operation {
	rows := make([]*Operation, 0, len(openAI)+len(anthropic)+len(gemini))
	for _, part := range [][]Operation{openAI[:], anthropic[:], gemini[:]} {
		for i := range part {
			rows = append(rows, &part[i])
		}
	}
	return rows
}

var openAI = [...]Operation{
	{Name: "chat", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/chat/completions", Model: InBody, Streams: ByMember, upstream: "/chat/completions", kind: kindChat},
	{Name: "completions", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/completions", Model: InBody, Streams: ByMember, upstream: "/completions", kind: kindCompletion},
	{Name: "responses", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/responses", Model: InBody, Streams: ByMember, upstream: "/responses", kind: kindResponse},
	{Name: "responses.get", Dialect: events.DialectOpenAI, Method: http.MethodGet, Path: "/v1/responses/{id}", Streams: ByQuery, Tied: true, upstream: "/responses/", kind: kindStored},
	{Name: "responses.delete", Dialect: events.DialectOpenAI, Method: http.MethodDelete, Path: "/v1/responses/{id}", Tied: true, upstream: "/responses/", kind: kindStored},
	{Name: "responses.cancel", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/responses/{id}/cancel", Tied: true, upstream: "/responses/", suffix: "/cancel", kind: kindStored},
	{Name: "responses.input_items", Dialect: events.DialectOpenAI, Method: http.MethodGet, Path: "/v1/responses/{id}/input_items", Tied: true, upstream: "/responses/", suffix: "/input_items"},
	{Name: "responses.input_tokens", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/responses/input_tokens", Model: InBody, upstream: "/responses/input_tokens"},
	{Name: "responses.compact", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/responses/compact", Model: InBody, upstream: "/responses/compact"},
	{Name: "embeddings", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/embeddings", Model: InBody, upstream: "/embeddings", kind: kindEmbeddings},
	{Name: "images.generations", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/images/generations", Model: InBody, Default: "dall-e-2", Streams: ByMember, upstream: "/images/generations", kind: kindImages},
	{Name: "images.edits", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/images/edits", Model: InForm, Default: "dall-e-2", Streams: ByMember, upstream: "/images/edits", kind: kindImages},
	{Name: "images.variations", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/images/variations", Model: InForm, Default: "dall-e-2", upstream: "/images/variations", kind: kindImages},
	{Name: "audio.speech", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/audio/speech", Model: InBody, Streams: ByFormat, Answer: Binary, upstream: "/audio/speech", kind: kindSpeech},
	{Name: "audio.transcriptions", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/audio/transcriptions", Model: InForm, Streams: ByMember, Answer: Text, upstream: "/audio/transcriptions", kind: kindTranscript},
	{Name: "audio.translations", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/audio/translations", Model: InForm, Answer: Text, upstream: "/audio/translations", kind: kindTranscript},
	{Name: "moderations", Dialect: events.DialectOpenAI, Method: http.MethodPost, Path: "/v1/moderations", Model: InBody, Default: "omni-moderation-latest", upstream: "/moderations", kind: kindModeration},
	{Name: "models", Dialect: events.DialectOpenAI, Method: http.MethodGet, Path: "/v1/models", Local: true},
	{Name: "models.get", Dialect: events.DialectOpenAI, Method: http.MethodGet, Path: "/v1/models/{model:.+}", Local: true},
}

// Anthropic's model lists stand on OpenAI's paths; anthropic-version tells which
// is meant.
var anthropic = [...]Operation{
	{Name: "messages", Dialect: events.DialectAnthropic, Method: http.MethodPost, Path: "/v1/messages", Model: InBody, Streams: ByMember, upstream: "/messages", kind: kindMessage},
	{Name: "count_tokens", Dialect: events.DialectAnthropic, Method: http.MethodPost, Path: "/v1/messages/count_tokens", Model: InBody, upstream: "/messages/count_tokens", kind: kindMessageCount},
}

var gemini = [...]Operation{
	{Name: "generateContent", Dialect: events.DialectGemini, Method: http.MethodPost, Path: "/{version:v1beta|v1}/models/{model:.+}:generateContent", Model: InPath, upstream: ":generateContent", kind: kindContent},
	{Name: "streamGenerateContent", Dialect: events.DialectGemini, Method: http.MethodPost, Path: "/{version:v1beta|v1}/models/{model:.+}:streamGenerateContent", Model: InPath, Streams: ByMethod, upstream: ":streamGenerateContent", kind: kindContent},
	{Name: "countTokens", Dialect: events.DialectGemini, Method: http.MethodPost, Path: "/{version:v1beta|v1}/models/{model:.+}:countTokens", Model: InPath, upstream: ":countTokens", kind: kindContentCount},
	{Name: "embedContent", Dialect: events.DialectGemini, Method: http.MethodPost, Path: "/{version:v1beta|v1}/models/{model:.+}:embedContent", Model: InPath, upstream: ":embedContent", kind: kindContentEmbedding},
	{Name: "batchEmbedContents", Dialect: events.DialectGemini, Method: http.MethodPost, Path: "/{version:v1beta|v1}/models/{model:.+}:batchEmbedContents", Model: InPath, upstream: ":batchEmbedContents", kind: kindContentEmbeddings},
	{Name: "models", Dialect: events.DialectGemini, Method: http.MethodGet, Path: "/v1beta/models", Local: true},
	{Name: "models.get", Dialect: events.DialectGemini, Method: http.MethodGet, Path: "/v1beta/models/{model:.+}", Local: true},
}
