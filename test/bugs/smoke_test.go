package bugs

import (
	"testing"
)

func TestEveryDialectAnswersPlainAndStreamed(t *testing.T) {
	w := start(t)
	w.good("a")
	for name, c := range allOf {
		t.Run(name, func(t *testing.T) {
			got := w.do(c)
			got.want(t, 200)
			t.Log(got.header, got.body)
		})
	}
	for name, c := range allOfS {
		t.Run(name, func(t *testing.T) {
			got := w.do(c)
			got.want(t, 200)
			if got.body != whole(streams[name]) {
				t.Errorf("body %q, want the upstream's bytes", got.body)
			}
		})
	}
	w.finished(8)
	t.Log(w.classes())
}
