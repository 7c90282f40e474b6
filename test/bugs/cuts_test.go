package bugs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waybill/waybill/test/upstream"
)

// TestAnyCutOfAnyStream: wherever reads happen to end, the client gets the
// upstream's bytes; wherever the upstream breaks off, the client gets whole
// events of it and one error, or another account's stream as a whole.
func TestAnyCutOfAnyStream(t *testing.T) {
	const rounds = 40
	for name, c := range allOfS {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 1))
			w := start(t, func(p *plan) { p.policy.HealthThreshold = 1 << 20 })
			w.good("b")
			for range rounds {
				ending := []string{"\n", "\r\n", "\r"}[random.IntN(3)]
				text := whole(recode(streams[name], ending))
				cut := len(text)
				if random.IntN(2) == 0 {
					cut = random.IntN(len(text))
				}
				var steps []upstream.Step
				for at := 0; at < cut; {
					n := min(1+random.IntN(60), cut-at)
					steps = append(steps, upstream.Raw(text[at:at+n]))
					at += n
				}
				if cut < len(text) {
					steps = append(steps, upstream.Reset)
				}
				w.up.Script("a", upstream.Stream(steps...))
				got := w.do(c)
				if !goodCut(name, got.body, text, whole(streams[name])) {
					t.Fatalf("seed %d: cut at %d of %d (%q): got %q of %q", seed, cut, len(text), ending, got.body, text)
				}
			}
		})
	}
}

// goodCut: all of a's stream, all of b's, or whole events of a's and an error.
func goodCut(name, got, a, b string) bool {
	if got == a || got == b {
		return true
	}
	fs, full := frames(got), frames(a)
	if strings.HasPrefix(a, got) && slices.Equal(fs, full) {
		return true // cut inside the last blank line: a parser has every event
	}
	if len(fs) == 0 || len(fs) > len(full)+1 {
		return false
	}
	for i, f := range fs[:len(fs)-1] {
		if f != full[i] {
			return false
		}
	}
	bad, done := errorFrames(name, fs)
	_, claimed := errorFrames(name, full[:len(fs)-1])
	return bad == 1 && done == claimed && strings.HasPrefix(got, a[:min(len(a), 10)])
}
