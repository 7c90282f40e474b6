package sandbox

import "net/http"

// chat answers POST /v1/chat/completions.
func (s *script) chat(c *call, w http.ResponseWriter) {
	id, created := s.id("chatcmpl"), s.now().Unix()
	if c.stream {
		c.chatStream(w, id, created)
		return
	}
	message, finish := object{"role": "assistant", "content": c.text()}, "stop"
	if t := c.tool; t != nil {
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": []object{t.chatCall()}}, "tool_calls"
	}
	writeJSON(w, 200, object{"id": id, "object": "chat.completion", "created": created, "model": c.model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}}, "usage": c.chatUsage()})
}

func (t *tool) chatCall() object {
	return object{"id": "call_sandbox", "type": "function", "function": object{"name": t.name, "arguments": t.args}}
}

func (c *call) chatUsage() object {
	in, out := words(c.said), words(c.text())
	return object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

func (c *call) chatStream(w http.ResponseWriter, id string, created int64) {
	s := newStream(w)
	chunk := func(choices []object) object {
		return object{"id": id, "object": "chat.completion.chunk", "created": created, "model": c.model, "choices": choices}
	}
	delta := func(d object, finish any) { s.send(chunk([]object{{"index": 0, "delta": d, "finish_reason": finish}})) }
	delta(object{"role": "assistant", "content": ""}, nil)
	if t := c.tool; t != nil {
		call := t.chatCall()
		call["index"] = 0
		delta(object{"tool_calls": []object{call}}, nil)
		delta(object{}, "tool_calls")
	} else {
		s.eachWord(c.text(), func(piece string) { delta(object{"content": piece}, nil) })
		delta(object{}, "stop")
	}
	if c.body.Options.Usage {
		last := chunk([]object{})
		last["usage"] = c.chatUsage()
		s.send(last)
	}
	s.done()
}

// completion answers POST /v1/completions.
func (s *script) completion(c *call, w http.ResponseWriter) {
	id, created := s.id("cmpl"), s.now().Unix()
	frame := func(text string, finish any) object {
		return object{"id": id, "object": "text_completion", "created": created, "model": c.model,
			"choices": []object{{"index": 0, "text": text, "logprobs": nil, "finish_reason": finish}}}
	}
	if !c.stream {
		whole := frame(c.text(), "stop")
		whole["usage"] = c.chatUsage()
		writeJSON(w, 200, whole)
		return
	}
	st := newStream(w)
	st.eachWord(c.text(), func(piece string) { st.send(frame(piece, nil)) })
	st.send(frame("", "stop"))
	st.done()
}

// embeddings answers POST /v1/embeddings.
func (s *script) embeddings(c *call, w http.ResponseWriter) {
	data := []object{}
	for i := range max(1, items(c.body.Input)) {
		data = append(data, object{"object": "embedding", "index": i, "embedding": vector()})
	}
	writeJSON(w, 200, object{"object": "list", "data": data, "model": c.model, "usage": object{"prompt_tokens": words(c.said), "total_tokens": words(c.said)}})
}

// moderation answers POST /v1/moderations.
func (s *script) moderation(c *call, w http.ResponseWriter) {
	writeJSON(w, 200, object{"id": s.id("modr"), "model": c.model,
		"results": []object{{"flagged": false, "categories": object{}, "category_scores": object{}}}})
}

// vector is an embedding as good as any.
func vector() []float64 { return []float64{0.5, -0.5, 0.5, -0.5} }
