package dialect

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// signal is a case of the signal catalogue that shows itself inside a 200.
type signal struct {
	ID, Provider, Phase, Class string
	Headers                    map[string]string
	Body                       json.RawMessage
	ContentSent                bool `json:"content_sent"`
}

func (s *signal) text() string {
	var text string
	if json.Unmarshal(s.Body, &text) == nil {
		return text
	}
	return string(s.Body)
}

func (s *signal) operation(t *testing.T) *Operation {
	name := "openai.chat"
	switch {
	case s.Provider == "openai-responses", s.Provider == "azure-openai":
		name = "openai.responses"
	case strings.HasPrefix(s.Provider, "anthropic"):
		name = "anthropic.messages"
	case s.Provider == "gemini":
		name = "gemini.streamGenerateContent"
	}
	return op(t, name)
}

func TestSignalsInsideA200AreSeen(t *testing.T) {
	raw, err := os.ReadFile("testdata/signals.json")
	if err != nil {
		t.Fatal(err)
	}
	var signals []signal
	if err := json.Unmarshal(raw, &signals); err != nil {
		t.Fatal(err)
	}
	for _, c := range signals {
		t.Run(c.ID, func(t *testing.T) {
			form := SSE
			if c.Phase == "response" {
				form = JSON
			}
			s := seen(t, c.operation(t), form, c.text(), nil)
			switch c.Class {
			case "success":
				if s.Terminal == "" || s.Refused {
					t.Errorf("%+v", s)
				}
			case "policy_refused":
				if s.Terminal == "" || !s.Refused {
					t.Errorf("%+v", s)
				}
			default:
				if s.Terminal != "" || s.Failed == nil && s.Malformed != MalformedTruncated {
					t.Errorf("%+v", s)
				}
			}
			if c.Phase == "stream" && c.ID != "stream-openrouter-mid" && s.Meaningful != c.ContentSent {
				t.Errorf("content sent %v, meaningful %v", c.ContentSent, s.Meaningful)
			}
		})
	}
	if len(signals) < 15 {
		t.Errorf("%d signals", len(signals))
	}
}
