package routing

import (
	"math"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

func TestRarityIsMinusTheLogarithm(t *testing.T) {
	for _, h := range []uint64{0, 1, 2, 3, 1 << 31, 1<<63 - 1, 1 << 63, 1<<63 + 12345, 3 << 62, 1<<64 - 1<<40, 0x123456789abcdef0} {
		want := 64 - math.Log2(float64(h)+1)
		got := float64(rarity(h)) / (1 << 32)
		if math.Abs(got-want) > 3e-6+want*2e-3 {
			t.Errorf("rarity(%#x) = %.9f, want %.9f", h, got, want)
		}
	}
	if rarity(1<<64-1) == 0 || rarity(1<<64-2) == 0 {
		t.Error("a rarity of zero would win against every weight")
	}
	last := rarity(0)
	for h := uint64(1); h != 0; h <<= 1 {
		if r := rarity(h); r > last {
			t.Fatalf("rarity(%#x) rises", h)
		} else {
			last = r
		}
	}
}

// The table is part of the rules: another value is another decision.
func TestTheLogarithmTableDoesNotChange(t *testing.T) {
	for i, want := range map[int]uint64{0: 0, 1: 24157254, 64: 1382670639, 128: 2512394809, 255: 4282853258, 256: 1 << 32} {
		if log2Table[i] != want {
			t.Errorf("log2Table[%d] = %d, want %d", i, log2Table[i], want)
		}
	}
	seed := halves(events.DigestOf("rendezvous", "a"))
	if got := draw([2]uint64{1, 2}, seed); got != 0x5dc96a4e0349e04b {
		t.Errorf("draw = %#x", got)
	}
}

func TestAWeightIsAShare(t *testing.T) {
	weights := []int64{1, 2, 5, 1000, 3000}
	total := int64(0)
	for _, w := range weights {
		total += w
	}
	seeds := make([][2]uint64, len(weights))
	for i := range seeds {
		seeds[i] = halves(events.DigestOf("rendezvous", string(rune('a'+i))))
	}
	const n = 200_000
	wins := make([]int, len(weights))
	for k := range n {
		key := halves(events.DigestOf(string(rune(k)), "session"))
		best := 0
		rare := rarity(draw(key, seeds[0]))
		for i := 1; i < len(weights); i++ {
			if r := rarity(draw(key, seeds[i])); beats(weights[i], r, weights[best], rare) {
				best, rare = i, r
			}
		}
		wins[best]++
	}
	for i, w := range weights {
		want := float64(n) * float64(w) / float64(total)
		if sigma := math.Sqrt(want); math.Abs(float64(wins[i])-want) > 5*sigma+want*0.005 {
			t.Errorf("weight %d of %d won %d times, want about %.0f", w, total, wins[i], want)
		}
	}
}

func TestTheKeyIsTheSessionElseTheRequest(t *testing.T) {
	request := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	session := events.DigestOf("client", "s1")
	if rendezvousKey(&events.Stamp{Session: session}, request) != rendezvousKey(&events.Stamp{Session: session}, uuid.Nil) {
		t.Error("a session's choice depends on the request")
	}
	if rendezvousKey(&events.Stamp{}, request) == rendezvousKey(&events.Stamp{}, uuid.Nil) {
		t.Error("without a session all requests choose alike")
	}
}
