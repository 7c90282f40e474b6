package bugs

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// frame is one event as a strict WHATWG parser dispatches it.
type frame struct{ name, data string }

// frames parses an event stream by the book: three line endings, comments, a
// byte order mark, one optional space; an event without data is not dispatched
// and one without a closing blank line is dropped.
func frames(s string) []frame {
	s = strings.TrimPrefix(s, "\ufeff")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	var out []frame
	var name string
	var data []string
	lines := strings.Split(s, "\n")
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				out = append(out, frame{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return out
}

// live is an answer being read while it comes.
type live struct {
	t      testing.TB
	res    *http.Response
	cancel context.CancelFunc
	r      *bufio.Reader
	got    strings.Builder
}

// open sends a call and returns when the head of the answer is there.
func (w *world) open(c call) *live {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	res, err := w.request(ctx, c)
	if err != nil {
		cancel()
		w.t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	l := &live{t: w.t, res: res, cancel: cancel, r: bufio.NewReader(res.Body)}
	w.t.Cleanup(l.leave)
	return l
}

// until reads until the answer holds want, and says how long that took.
func (l *live) until(want string) time.Duration {
	l.t.Helper()
	from := time.Now()
	for !strings.Contains(l.got.String(), want) {
		b, err := l.r.ReadByte()
		if err != nil {
			l.t.Fatalf("the answer ended (%v) before %q; got %q", err, want, l.got.String())
		}
		l.got.WriteByte(b)
	}
	return time.Since(from)
}

// rest reads to the end.
func (l *live) rest() (string, error) {
	b, err := io.ReadAll(l.r)
	l.got.Write(b)
	return l.got.String(), err
}

// leave closes the client's connection.
func (l *live) leave() {
	l.cancel()
	l.res.Body.Close()
}

func wantGone(t testing.TB, ch <-chan struct{}, within time.Duration, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(busy(within)):
		t.Errorf("%s: the upstream saw no close within %s", what, within)
	}
}
