package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// pace is the pause between two frames of a stream.
const pace = 15 * time.Millisecond

// stream writes server-sent events, each at once, at a pace.
type stream struct {
	w   http.ResponseWriter
	r   *http.ResponseController
	err error
}

func newStream(w http.ResponseWriter) *stream { return newStreamOf(w, "text/event-stream") }

func newStreamOf(w http.ResponseWriter, contentType string) *stream {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, r: http.NewResponseController(w)}
}

// send writes an event with data only.
func (s *stream) send(v any) { s.named("", v) }

// named writes an event with a name.
func (s *stream) named(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		s.err = err
		return
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	s.write(name + "data: " + string(b) + "\n\n")
}

func (s *stream) done() { s.write("data: [DONE]\n\n") }

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.r.Flush()
	}
}

// eachWord calls fn with the pieces of a text, at the stream's pace.
func (s *stream) eachWord(text string, fn func(piece string)) {
	for piece := range strings.SplitAfterSeq(text, " ") {
		if s.err != nil {
			return
		}
		fn(piece)
		time.Sleep(pace)
	}
}
