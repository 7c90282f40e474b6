package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
)

// generate answers generateContent and streamGenerateContent.
func (s *script) generate(c *call, w http.ResponseWriter) {
	id := s.id("gen")
	frame := func(part object, finish string) object {
		candidate := object{"content": object{"role": "model", "parts": []object{part}}, "index": 0}
		o := object{"candidates": []object{candidate}, "modelVersion": c.model, "responseId": id}
		if finish != "" {
			candidate["finishReason"] = finish
			o["usageMetadata"] = c.geminiUsage()
		}
		return o
	}
	part := object{"text": c.text()}
	if t := c.tool; t != nil {
		part = object{"functionCall": object{"name": t.name, "args": json.RawMessage(t.args)}}
	}
	switch {
	case !c.stream:
		writeJSON(w, 200, frame(part, "STOP"))
	case c.array:
		c.geminiArray(w, frame)
	default:
		c.geminiStream(w, part, frame)
	}
}

func (c *call) geminiUsage() object {
	in, out := words(c.said), words(c.text())
	return object{"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out}
}

func (c *call) geminiStream(w http.ResponseWriter, part object, frame func(object, string) object) {
	s := newStream(w)
	if c.tool != nil {
		s.send(frame(part, "STOP"))
		return
	}
	s.eachWord(c.text(), func(piece string) { s.send(frame(object{"text": piece}, "")) })
	s.send(frame(object{"text": ""}, "STOP"))
}

// geminiArray is the stream that is asked for without alt=sse: one JSON array,
// element by element.
func (c *call) geminiArray(w http.ResponseWriter, frame func(object, string) object) {
	s := newStreamOf(w, "application/json")
	sep := "["
	put := func(o object) {
		b, err := json.Marshal(o)
		if err != nil {
			s.err = err
			return
		}
		s.write(sep + string(b))
		sep = ",\r\n"
	}
	if t := c.tool; t != nil {
		put(frame(object{"functionCall": object{"name": t.name, "args": json.RawMessage(t.args)}}, "STOP"))
	} else {
		s.eachWord(c.text(), func(piece string) { put(frame(object{"text": piece}, "")) })
		put(frame(object{"text": ""}, "STOP"))
	}
	s.write("]")
}

// geminiCount answers countTokens.
func (s *script) geminiCount(c *call, w http.ResponseWriter) {
	writeJSON(w, 200, object{"totalTokens": words(c.said)})
}

// geminiEmbed answers embedContent and batchEmbedContents.
func (s *script) geminiEmbed(c *call, w http.ResponseWriter) {
	one := object{"values": vector()}
	if !strings.HasSuffix(c.path, ":batchEmbedContents") {
		writeJSON(w, 200, object{"embedding": one})
		return
	}
	all := []object{}
	for range c.body.Requests {
		all = append(all, one)
	}
	writeJSON(w, 200, object{"embeddings": all})
}
