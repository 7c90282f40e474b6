package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybill/waybill/events"
)

// object is a JSON object as the script writes one.
type object map[string]any

// maxBody bounds what the script reads.
const maxBody = 64 << 20

// call is one request, as far as the script cares.
type call struct {
	account string
	dialect events.Dialect
	model   string
	stream  bool
	array   bool // a Gemini stream without alt=sse
	said    string
	tool    *tool
	body    body
	path    string
	answers func(*script, *call, http.ResponseWriter)
	spends  bool // counts against the account's allowance
}

// body is the union of what the three dialects send, as far as it is used.
type body struct {
	Model      string            `json:"model"`
	Stream     bool              `json:"stream"`
	Prompt     json.RawMessage   `json:"prompt"`
	Input      json.RawMessage   `json:"input"`
	Messages   []message         `json:"messages"`
	Contents   []message         `json:"contents"`
	Requests   []json.RawMessage `json:"requests"`
	Tools      []json.RawMessage `json:"tools"`
	ToolChoice json.RawMessage   `json:"tool_choice"`
	Options    struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Parts   json.RawMessage `json:"parts"`
}

// readCall understands a request; the fault is the client's.
func readCall(r *http.Request) (*call, *failure) {
	c := &call{path: r.URL.Path, dialect: events.DialectOpenAI}
	c.route(r)
	if r.Method != http.MethodPost {
		return c, nil
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(raw, &c.body)
	}
	if err != nil {
		return c, &failure{status: 400, code: "invalid_value", kind: "invalid_request_error", message: fmt.Sprintf("the body is no JSON object: %v", err)}
	}
	if c.model == "" {
		c.model = c.body.Model
	}
	c.stream = c.stream || c.body.Stream
	c.said = lastWords(&c.body)
	c.tool = c.wantedTool()
	return c, nil
}

// route finds the dialect and the answer by method and path.
func (c *call) route(r *http.Request) {
	post := r.Method == http.MethodPost
	switch path := r.URL.Path; {
	case post && path == "/v1/chat/completions":
		c.answers, c.spends = (*script).chat, true
	case post && path == "/v1/completions":
		c.answers, c.spends = (*script).completion, true
	case post && path == "/v1/responses":
		c.answers, c.spends = (*script).response, true
	case strings.HasPrefix(path, "/v1/responses/"):
		c.answers = (*script).storedResponse
	case post && path == "/v1/embeddings":
		c.answers, c.spends = (*script).embeddings, true
	case post && path == "/v1/moderations":
		c.answers = (*script).moderation
	case post && path == "/v1/messages":
		c.dialect, c.answers, c.spends = events.DialectAnthropic, (*script).messages, true
	case post && path == "/v1/messages/count_tokens":
		c.dialect, c.answers = events.DialectAnthropic, (*script).countTokens
	case strings.HasPrefix(path, "/v1beta/models/") && post:
		c.gemini(r.URL)
	}
}

func (c *call) gemini(u *url.URL) {
	c.dialect = events.DialectGemini
	name, method, _ := strings.Cut(strings.TrimPrefix(u.Path, "/v1beta/models/"), ":")
	c.model = name
	switch method {
	case "generateContent":
		c.answers, c.spends = (*script).generate, true
	case "streamGenerateContent":
		c.answers, c.spends, c.stream = (*script).generate, true, true
		c.array = u.Query().Get("alt") != "sse"
	case "countTokens":
		c.answers = (*script).geminiCount
	case "embedContent", "batchEmbedContents":
		c.answers, c.spends = (*script).geminiEmbed, true
	}
}

// text is what the sandbox says.
func (c *call) text() string {
	said := c.said
	if said == "" {
		said = "nothing that a script can read"
	}
	return fmt.Sprintf("This is the Waybill sandbox, account %s. You said: %q. A script made this answer; no model was asked.", c.account, said)
}

// words counts tokens the way a script can.
func words(s string) int { return len(strings.Fields(s)) }
