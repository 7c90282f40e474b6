package admission

import (
	"bytes"
	"testing"

	"github.com/waybill/waybill/events"
)

// FuzzLoadState: bytes that are no state are an error or a state that can be
// judged and written again, never a panic; and a refused one leaves the view
// as it was.
func FuzzLoadState(f *testing.F) {
	c := newChronicler(f, 3)
	for range 30 {
		c.step()
	}
	state := c.w.v.AppendState(nil)
	f.Add(state)
	f.Add(state[:len(state)/2])
	f.Add([]byte{})
	for i := 0; i < len(state); i += 97 {
		broken := bytes.Clone(state)
		broken[i] ^= 0x55
		f.Add(broken)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v := New()
		before := v.AppendState(nil)
		if err := v.LoadState(b); err != nil {
			if !bytes.Equal(before, v.AppendState(nil)) {
				t.Fatal("a refused state changed the view")
			}
			return
		}
		policy := events.DefaultPolicy()
		for _, a := range v.Roster() {
			Admit(v, Path{a.No, "m3"}, &policy, c.now)
			StatusOf(v, Path{a.No, ""}, &policy, c.now)
		}
		again := New()
		if err := again.LoadState(v.AppendState(nil)); err != nil {
			t.Fatalf("a state that was read cannot be read again: %v", err)
		}
	})
}

// Whoever remembers a verdict of a view forgets it when the view loads a state.
func TestALoadedStateHasOtherGenerations(t *testing.T) {
	w := newWorld(t, "a")
	w.fail(hit("a", "m", 0), of(events.ClassServerError))
	state := w.v.AppendState(nil)
	accounts, rosters := map[uint64]bool{}, map[uint64]bool{}
	for range 3 {
		accounts[w.v.Generation(1)], rosters[w.v.RosterGeneration()] = true, true
		if err := w.v.LoadState(state); err != nil {
			t.Fatal(err)
		}
	}
	if len(accounts) != 3 || len(rosters) != 3 {
		t.Errorf("of 3 states %d and %d look different", len(accounts), len(rosters))
	}
}
