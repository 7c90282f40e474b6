package admission

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

func TestTheBoundsHold(t *testing.T) {
	w := newWorld(t, "a")
	w.fail(hit("a", "first", 0), of(events.ClassRateLimited))
	for i := range 2000 {
		at := time.Duration(i) * 50 * time.Millisecond
		m := "m" + uuid.NewSHA1(uuid.Nil, []byte{byte(i), byte(i >> 8)}).String()
		w.ok(served("a", m, at, at+time.Millisecond))
		w.reading("a", after(at), spent(m, after(at+time.Hour)))
		c := hit("a", m, at)
		c.request = uint64(i)
		w.fail(c, of(events.ClassUnclassified))
	}
	a := w.v.accounts[0]
	l := a.shelves[0].base
	if len(l.places) > maxPlaces || len(l.tape.claims) > maxClaims || len(l.tape.marks) > maxMarks || len(w.v.mysteries.base) > maxRequests {
		t.Fatalf("%d places, %d claims, %d marks, %d requests", len(l.places), len(l.tape.claims), len(l.tape.marks), len(w.v.mysteries.base))
	}
	if l.at(key{events.ScopeModel, "first"}) == nil {
		t.Fatal("a fact was forgotten to make room for successes")
	}
	if n := len(w.v.AppendState(nil)); n > 300_000 {
		t.Fatalf("%d bytes of state", n)
	}
}

// Room is made by what says the least: a scope that a reading speaks of stays,
// however long ago it was served; of the others the longest ago goes.
func TestAScopeThatAReadingSpeaksOfIsNotForgotten(t *testing.T) {
	w := newWorld(t, "a")
	at := func(i int) time.Duration { return time.Duration(i) * time.Second }
	w.ok(served("a", "read", at(0), at(1)))
	w.reading("a", after(at(1)), scoped(roomy("x", 5, 0), "model:read"))
	w.ok(served("a", "first", at(1), at(2)))
	for i := range maxPlaces {
		w.ok(served("a", "m"+strconv.Itoa(i), at(2+i), at(3+i)))
	}
	l := w.v.accounts[0].shelves[0].base
	if len(l.places) != maxPlaces {
		t.Errorf("%d scopes, want %d", len(l.places), maxPlaces)
	}
	for name, kept := range map[string]bool{"read": true, "first": false, "m255": true} {
		if (l.at(key{events.ScopeModel, name}) != nil) != kept {
			t.Errorf("%s is kept: %v, want %v", name, !kept, kept)
		}
	}
}

// What one scope keeps is full after a flood, and no more than that.
func TestTheBoundsOfAScopeHold(t *testing.T) {
	w := newWorld(t, "a")
	for i := range 100 {
		ms := time.Duration(i) * time.Millisecond
		w.ok(served("a", "m", ms, time.Second-ms)) // none beats another
		w.fail(hit("a", "m", 2*time.Second+ms), of(events.ClassCreditsExhausted))
		w.fail(hit("a", "m", 2*time.Second+ms), of(events.ClassServerError))
	}
	var successes, facts, setbacks int
	for _, l := range []*layer{w.v.accounts[0].shelves[0].base, w.v.endpoints["host.example"].base} {
		for _, p := range l.places {
			axes := map[events.Axis]int{}
			for i := range p.facts {
				axes[p.facts[i].kind.row().axis]++
			}
			for _, n := range axes {
				facts = max(facts, n)
			}
			successes, setbacks = max(successes, len(p.successes)), max(setbacks, len(p.setbacks))
		}
	}
	if successes != maxSuccesses || facts != maxFacts || setbacks != maxSetbacks {
		t.Errorf("%d successes, %d facts, %d setbacks", successes, facts, setbacks)
	}
}
