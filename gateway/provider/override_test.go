package provider

import (
	"errors"
	"testing"

	"github.com/waybill/waybill/events"
)

func tables() []*Provider {
	return []*Provider{{ID: "p", Rules: []Rule{
		{ID: "p.sure", Statuses: []int{429}, Phrases: []string{"sure"}, Class: events.ClassWindowExhausted},
		{ID: "p.guess", Statuses: []int{429}, Phrases: []string{"guess"}, Class: events.ClassWindowExhausted, Confidence: Low},
	}}, {ID: "q"}}
}

func TestARowOfLowConfidenceCanBeChanged(t *testing.T) {
	a := Answer{Status: 429, Body: []byte(`{"error":{"message":"a guess"}}`), Model: "m", At: 1}
	all := tables()
	for word, want := range map[string]struct {
		class events.Class
		rule  string
	}{"off": {events.ClassRateLimited, "status:429"}, "credits_exhausted": {events.ClassCreditsExhausted, "p.guess"}} {
		m, ok := ParseMeaning(word)
		changed, err := Override(all, map[string]Meaning{"p.guess": m})
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if f := changed[0].Classify(a); f.Class != want.class || f.Rule != want.rule {
			t.Errorf("%s: %s by %s", word, f.Class, f.Rule)
		}
		if f := all[0].Classify(a); f.Class != events.ClassWindowExhausted {
			t.Error("the table given has changed")
		}
		if changed[1] != all[1] {
			t.Error("a provider without such a row was copied")
		}
	}
}

func TestWhatCannotBeOverridden(t *testing.T) {
	for _, id := range []string{"p.sure", "p.none"} {
		if _, err := Override(tables(), map[string]Meaning{id: {Off: true}}); !errors.Is(err, ErrOverride) {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, word := range []string{"", "success", "lost", "nonsense", "network"} {
		if _, ok := ParseMeaning(word); ok {
			t.Errorf("%q is a meaning", word)
		}
	}
}
