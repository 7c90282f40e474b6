package sandbox

import (
	"encoding/json"
	"net/http"
)

// messages answers POST /v1/messages.
func (s *script) messages(c *call, w http.ResponseWriter) {
	block, stop := object{"type": "text", "text": c.text()}, "end_turn"
	if t := c.tool; t != nil {
		block, stop = object{"type": "tool_use", "id": "toolu_sandbox", "name": t.name, "input": json.RawMessage(t.args)}, "tool_use"
	}
	usage := object{"input_tokens": words(c.said), "output_tokens": words(c.text())}
	whole := object{"id": s.id("msg"), "type": "message", "role": "assistant", "model": c.model,
		"content": []object{block}, "stop_reason": stop, "stop_sequence": nil, "usage": usage}
	if c.stream {
		c.messageStream(w, whole, block, stop)
		return
	}
	writeJSON(w, 200, whole)
}

func (c *call) messageStream(w http.ResponseWriter, whole, block object, stop string) {
	s := newStream(w)
	emit := func(kind string, o object) {
		o["type"] = kind
		s.named(kind, o)
	}
	whole["content"], whole["stop_reason"] = []object{}, nil
	whole["usage"] = object{"input_tokens": words(c.said), "output_tokens": 1}
	emit("message_start", object{"message": whole})
	delta := func(d object) { emit("content_block_delta", object{"index": 0, "delta": d}) }
	if t := c.tool; t != nil {
		block["input"] = object{}
		emit("content_block_start", object{"index": 0, "content_block": block})
		delta(object{"type": "input_json_delta", "partial_json": t.args})
	} else {
		emit("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		s.eachWord(c.text(), func(piece string) { delta(object{"type": "text_delta", "text": piece}) })
	}
	emit("content_block_stop", object{"index": 0})
	emit("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": words(c.text())}})
	emit("message_stop", object{})
}

// countTokens answers POST /v1/messages/count_tokens.
func (s *script) countTokens(c *call, w http.ResponseWriter) {
	writeJSON(w, 200, object{"input_tokens": words(c.said)})
}
