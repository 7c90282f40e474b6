package sandbox

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxSaid bounds how much of the client's words is echoed, in bytes.
const maxSaid = 200

// lastWords is the text of the last thing that the client said, shortened.
func lastWords(b *body) string {
	var s string
	switch {
	case len(b.Messages) > 0:
		s = textOf(b.Messages[len(b.Messages)-1].Content)
	case len(b.Contents) > 0:
		s = textOf(b.Contents[len(b.Contents)-1].Parts)
	case len(b.Input) > 0:
		s = textOf(b.Input)
	default:
		s = textOf(b.Prompt)
	}
	if len(s) <= maxSaid {
		return s
	}
	cut := maxSaid
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// textOf reads a string, or the texts inside a list of parts or items.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var texts []string
		for _, item := range list {
			if t := textOf(item); t != "" {
				texts = append(texts, t)
			}
		}
		return strings.Join(texts, " ")
	}
	var part struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
		Output  string          `json:"output"`
	}
	if json.Unmarshal(raw, &part) != nil {
		return ""
	}
	if part.Text == "" && len(part.Content) > 0 {
		return textOf(part.Content)
	}
	return part.Text + part.Output
}
