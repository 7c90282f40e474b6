package dialect

import (
	"strings"

	"github.com/waybill/waybill/events"
)

// generation are the methods that a Gemini client asks a model list for.
const generation = `["generateContent","streamGenerateContent","countTokens","embedContent","batchEmbedContents"]`

// ModelList is the list of what clients may ask for, in a dialect's shape and
// in the order given. Times are the epoch: nobody knows a pool's.
func ModelList(d events.Dialect, names []string) []byte {
	head, tail := `{"object":"list","data":[`, `]}`
	switch d {
	case events.DialectAnthropic:
		head, tail = `{"data":[`, anthropicTail(names)
	case events.DialectGemini:
		head = `{"models":[`
	}
	b := []byte(head)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendModel(b, d, name)
	}
	return append(b, tail...)
}

// Model is one model in a dialect's shape. Nothing is claimed about it but that
// it can be asked for.
func Model(d events.Dialect, name string) []byte { return appendModel(nil, d, name) }

func appendModel(b []byte, d events.Dialect, name string) []byte {
	switch d {
	case events.DialectAnthropic:
		b = append(b, `{"type":"model","id":`...)
		b = appendString(b, name)
		b = append(b, `,"display_name":`...)
		b = appendString(b, name)
		return append(b, `,"created_at":"1970-01-01T00:00:00Z"}`...)
	case events.DialectGemini:
		b = append(b, `{"name":`...)
		b = appendString(b, "models/"+name)
		b = append(b, `,"displayName":`...)
		b = appendString(b, name)
		return append(b, `,"supportedGenerationMethods":`+generation+`}`...)
	}
	b = append(b, `{"id":`...)
	b = appendString(b, name)
	return append(b, `,"object":"model","created":0,"owned_by":"waybill"}`...)
}

func anthropicTail(names []string) string {
	first, last := "null", "null"
	if len(names) > 0 {
		first = string(appendString(nil, names[0]))
		last = string(appendString(nil, names[len(names)-1]))
	}
	return strings.Join([]string{`],"has_more":false,"first_id":`, first, `,"last_id":`, last, `}`}, "")
}
