package pins

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
)

const noon = events.Time(1_796_000_000_000_000)

var (
	policy = events.DefaultPolicy()
	s1, s2 = events.DigestOf("k1", "s"), events.DigestOf("k2", "s")
	m1     = events.DigestOf("route", "a", "b")
)

func event(account string, at events.Time, p events.Payload) *events.Event {
	return &events.Event{Header: events.Header{Account: account, ObservedAt: at}, Position: 1, Data: p}
}

func enrolled(ids ...string) *View {
	v := New()
	for _, id := range ids {
		v.Apply(event(id, noon, &events.AccountEnrolled{}))
	}
	return v
}

func used(session events.Digest, chosen uint32) *events.AttemptRouted {
	return &events.AttemptRouted{Stamp: events.Stamp{Session: session}, Chosen: chosen, Route: m1}
}

func wantPin(t *testing.T, v *View, session events.Digest, at events.Time, account uint32) {
	t.Helper()
	p, ok := v.Of(session, m1, &policy, at)
	if ok != (account != 0) || p.Account != account {
		t.Errorf("pin at +%s is %+v (%v), want account %d", at.Sub(noon), p, ok, account)
	}
}

func TestAPinIsSetMovedAndReleased(t *testing.T) {
	v := enrolled("a", "b")
	wantPin(t, v, s1, noon, 0)
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	wantPin(t, v, s1, noon, 1)
	v.Apply(event("b", noon, &events.PinMoved{Session: s1, Route: m1, From: 1}))
	wantPin(t, v, s1, noon, 2)
	v.Apply(event("", noon, &events.PinReleased{Session: s1, Route: m1, From: 2}))
	wantPin(t, v, s1, noon, 0)
}

func Test_B098_two_clients_do_not_share_a_pin(t *testing.T) {
	v := enrolled("a", "b")
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	v.Apply(event("b", noon, &events.PinSet{Session: s2, Route: m1}))
	v.Apply(event("", noon, &events.PinReleased{Session: s1, Route: m1}))
	wantPin(t, v, s1, noon, 0)
	wantPin(t, v, s2, noon, 2)
}

func Test_G23_use_extends_the_time_to_live(t *testing.T) {
	v := enrolled("a", "b")
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	wantPin(t, v, s1, noon.Add(time.Hour), 1)
	wantPin(t, v, s1, noon.Add(time.Hour+time.Microsecond), 0)
	v.Apply(event("b", noon.Add(50*time.Minute), used(s1, 2))) // it borrowed: the session lives
	v.Apply(event("a", noon.Add(20*time.Minute), used(s1, 1))) // an older one changes nothing
	wantPin(t, v, s1, noon.Add(110*time.Minute), 1)
	wantPin(t, v, s1, noon.Add(110*time.Minute+time.Microsecond), 0)
	v.Apply(event("a", noon, used(s2, 1)))
	wantPin(t, v, s2, noon, 0)
}

func Test_B128_pins_of_a_retired_account_are_gone(t *testing.T) {
	v := enrolled("a", "b")
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	v.Apply(event("b", noon, &events.PinSet{Session: s2, Route: m1}))
	v.Apply(event("a", noon, &events.AccountRetired{}))
	wantPin(t, v, s1, noon, 0)
	wantPin(t, v, s2, noon, 2)
	v.Apply(event("a", noon, &events.AccountEnrolled{})) // the same id, another key
	wantPin(t, v, s1, noon, 0)
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	wantPin(t, v, s1, noon, 1)
}

func Test_A9_the_pin_used_longest_ago_is_dropped(t *testing.T) {
	tab := newTable(3)
	k := func(i int) key { return key{session: events.DigestOf(fmt.Sprint(i))} }
	for i := 1; i <= 3; i++ {
		tab.put(k(i), Pin{Account: uint32(i)})
	}
	tab.put(k(1), Pin{Account: 9}) // used again
	tab.put(k(4), Pin{Account: 4})
	tab.put(k(3), Pin{})
	tab.put(k(5), Pin{Account: 5})
	want := map[int]uint32{1: 9, 2: 0, 3: 0, 4: 4, 5: 5}
	for i, account := range want {
		if p, _ := tab.get(k(i)); p.Account != account {
			t.Errorf("pin %d is %+v, want account %d", i, p, account)
		}
	}
	if len(tab.slots) > 4 {
		t.Errorf("%d slots for 3 pins", len(tab.slots))
	}
}

func TestAPendingPinIsSeenUntilItIsDropped(t *testing.T) {
	v := enrolled("a", "b")
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	before := v.AppendState(nil)
	v.Pend(event("b", noon, &events.PinMoved{Session: s1, Route: m1}))
	v.Pend(event("b", noon.Add(time.Hour), used(s1, 2)))
	wantPin(t, v, s1, noon.Add(2*time.Hour), 2)
	v.Pend(event("", noon, &events.PinReleased{Session: s1, Route: m1}))
	wantPin(t, v, s1, noon, 0)
	v.DropPending()
	wantPin(t, v, s1, noon, 1)
	if !bytes.Equal(before, v.AppendState(nil)) {
		t.Error("pending events changed the committed state")
	}
}

// random is a history of pin events over few sessions and accounts.
func random(r *rand.Rand, n int) []events.Event {
	ids := []string{"a", "b", "c"}
	var out []events.Event
	for i := range n {
		session := events.DigestOf(fmt.Sprint(r.IntN(40)))
		id := ids[r.IntN(len(ids))]
		var p events.Payload
		switch k := r.IntN(20); {
		case i < len(ids):
			id, p = ids[i], &events.AccountEnrolled{}
		case k < 6:
			p = &events.PinSet{Session: session, Route: m1}
		case k < 9:
			p = &events.PinMoved{Session: session, Route: m1}
		case k < 11:
			p = &events.PinReleased{Session: session, Route: m1}
		case k == 11:
			p = &events.AccountRetired{}
		default:
			p = used(session, 1)
		}
		e := event(id, noon.Add(time.Duration(r.IntN(n))*time.Second), p)
		e.Position = events.Position(i + 1)
		e.ID[0], e.ID[1] = byte(i>>8), byte(i)
		out = append(out, *e)
	}
	return out
}

func TestASnapshotAndItsTailAreTheFold(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		history := random(r, 300)
		whole, part := New(), New()
		at := r.IntN(len(history))
		for i := range history {
			whole.Apply(&history[i])
			if i == at {
				loaded := New()
				if err := loaded.LoadState(part.AppendState(nil)); err != nil {
					t.Fatal(err)
				}
				part = loaded
			}
			part.Apply(&history[i])
		}
		if !bytes.Equal(whole.AppendState(nil), part.AppendState(nil)) {
			t.Fatalf("seed %d: snapshot at %d and tail differ from the fold", seed, at)
		}
	}
}

func TestALiveViewEndsAsTheFold(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		history := random(r, 300)
		whole, view := New(), New()
		live := projections.NewLive(view)
		for from := 0; from < len(history); {
			to := min(from+1+r.IntN(9), len(history))
			for i := from; i < to; i++ {
				whole.Apply(&history[i])
				pending := history[i]
				pending.Position = 0
				live.Pend(pending)
			}
			live.Commit(history[from:to])
			from = to
			if !bytes.Equal(whole.AppendState(nil), view.AppendState(nil)) {
				t.Fatalf("seed %d: live view differs at %d", seed, to)
			}
			for i := range 40 {
				session := events.DigestOf(fmt.Sprint(i))
				a, _ := whole.Of(session, m1, &policy, noon)
				if b, _ := view.Of(session, m1, &policy, noon); a != b {
					t.Fatalf("seed %d: session %d is pinned to %+v live and %+v folded", seed, i, b, a)
				}
			}
		}
	}
}

func TestAStateThatCannotBeReadIsAnError(t *testing.T) {
	v := enrolled("a")
	v.Apply(event("a", noon, &events.PinSet{Session: s1, Route: m1}))
	state := v.AppendState(nil)
	for n := range state {
		if err := New().LoadState(state[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a state", n, len(state))
		}
	}
}
