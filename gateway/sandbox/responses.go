package sandbox

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// maxStored bounds the responses that GET /v1/responses/{id} finds.
const maxStored = 64

// response answers POST /v1/responses.
func (s *script) response(c *call, w http.ResponseWriter) {
	whole := object{"id": s.id("resp"), "object": "response", "created_at": s.now().Unix(), "status": "completed",
		"model": c.model, "output": []object{c.outputItem()}, "usage": c.responseUsage(), "error": nil, "incomplete_details": nil,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []object{}, "metadata": object{}}
	s.store(whole)
	if c.stream {
		c.responseStream(w, whole)
		return
	}
	writeJSON(w, 200, whole)
}

func (c *call) outputItem() object {
	if t := c.tool; t != nil {
		return object{"id": "fc_sandbox", "type": "function_call", "status": "completed", "call_id": "call_sandbox", "name": t.name, "arguments": t.args}
	}
	return object{"id": "msg_sandbox", "type": "message", "status": "completed", "role": "assistant",
		"content": []object{{"type": "output_text", "text": c.text(), "annotations": []object{}}}}
}

func (c *call) responseUsage() object {
	in, out := words(c.said), words(c.text())
	return object{"input_tokens": in, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + out}
}

func (c *call) responseStream(w http.ResponseWriter, whole object) {
	s, n := newStream(w), 0
	emit := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, n
		n++
		s.named(kind, o)
	}
	begun := maps.Clone(whole)
	begun["status"], begun["output"], begun["usage"] = "in_progress", []object{}, nil
	item := c.outputItem()
	emit("response.created", object{"response": begun})
	emit("response.in_progress", object{"response": begun})
	emit("response.output_item.added", object{"output_index": 0, "item": opened(item)})
	c.responseContent(s, emit, item)
	emit("response.output_item.done", object{"output_index": 0, "item": item})
	emit("response.completed", object{"response": whole})
}

// opened is an item before anything is in it.
func opened(item object) object {
	o := maps.Clone(item)
	o["status"] = "in_progress"
	if _, ok := o["arguments"]; ok {
		o["arguments"] = ""
	} else {
		o["content"] = []object{}
	}
	return o
}

func (c *call) responseContent(s *stream, emit func(string, object), item object) {
	id := item["id"]
	if t := c.tool; t != nil {
		emit("response.function_call_arguments.delta", object{"item_id": id, "output_index": 0, "delta": t.args})
		emit("response.function_call_arguments.done", object{"item_id": id, "output_index": 0, "arguments": t.args})
		return
	}
	part := func(text string) object {
		return object{"type": "output_text", "text": text, "annotations": []object{}}
	}
	emit("response.content_part.added", object{"item_id": id, "output_index": 0, "content_index": 0, "part": part("")})
	s.eachWord(c.text(), func(piece string) {
		emit("response.output_text.delta", object{"item_id": id, "output_index": 0, "content_index": 0, "delta": piece})
	})
	emit("response.output_text.done", object{"item_id": id, "output_index": 0, "content_index": 0, "text": c.text()})
	emit("response.content_part.done", object{"item_id": id, "output_index": 0, "content_index": 0, "part": part(c.text())})
}

// store keeps a response for GET, the newest maxStored of them.
func (s *script) store(o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := o["id"].(string)
	s.made[id] = o
	if s.order = append(s.order, id); len(s.order) > maxStored {
		delete(s.made, s.order[0])
		s.order = s.order[1:]
	}
}

// storedResponse answers GET and DELETE /v1/responses/{id}.
func (s *script) storedResponse(c *call, w http.ResponseWriter) {
	id := strings.TrimPrefix(c.path, "/v1/responses/")
	s.mu.Lock()
	o, ok := s.made[id]
	s.mu.Unlock()
	if !ok {
		c.fail(w, failure{status: 404, code: "not_found", kind: "invalid_request_error", message: "there is no response " + id})
		return
	}
	writeJSON(w, 200, o)
}

// items counts the entries of a list; a single value is one.
func items(raw json.RawMessage) int {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return 1
	}
	return len(list)
}
