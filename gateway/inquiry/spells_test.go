package inquiry_test

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/test/played"
)

// What a track says of an instant is what the accounts as of that instant say.
func TestSpellsSayWhatTheAccountsSaidThen(t *testing.T) {
	g, _ := played.InMemory(t, "a", "b", "c")
	g.Incident()
	g.Clock.Pass(26 * time.Hour)
	to := g.Clock.Now()
	for _, id := range []string{"a", "b", "c"} {
		of := inquiry.TrackOf{Account: id, From: played.Begin.Add(-time.Hour), To: to, Most: 1000}
		track, err := inquiry.Spells(t.Context(), g.Log, of)
		if err != nil {
			t.Fatal(err)
		}
		gapless(t, track, to)
		seen := map[string]bool{}
		for at := played.Begin.Add(time.Second); at < to; at = at.Add(97 * time.Second) {
			rows, err := inquiry.Accounts(t.Context(), g.Log, inquiry.Moment{Time: at}, id, "")
			if err != nil {
				t.Fatal(err)
			}
			s := standing(track.Spells, at)
			if s == nil || s.State != rows[0].State || s.Reason != rows[0].Verdict.Reason {
				t.Fatalf("%s at %s: the account says %s %s, the track %+v", id, at, rows[0].State, rows[0].Verdict.Reason, s)
			}
			if over := standing(track.Overrides, at) != nil; over != (rows[0].Override > at) {
				t.Fatalf("%s at %s: override until %s, the track %v", id, at, rows[0].Override, track.Overrides)
			}
			seen[s.State] = true
		}
		if len(seen) < 2 {
			t.Fatalf("%s only ever was %v: the test tells nothing", id, seen)
		}
	}
}

func standing(spells []inquiry.Spell, at events.Time) *inquiry.Spell {
	for i := range spells {
		if spells[i].From <= at && at < spells[i].To {
			return &spells[i]
		}
	}
	return nil
}

func gapless(t *testing.T, track inquiry.Track, to events.Time) {
	t.Helper()
	for i := range track.Spells {
		s := &track.Spells[i]
		end := to
		if i+1 < len(track.Spells) {
			end = track.Spells[i+1].From
		}
		if s.To != end || s.From > s.To {
			t.Fatalf("spell %d %+v does not end at %s", i, s, end)
		}
	}
}

// A span of more events than may be folded is followed from later on.
func TestSpellsAreBounded(t *testing.T) {
	g, _ := played.InMemory(t, "a", "b", "c")
	g.Incident()
	of := inquiry.TrackOf{Account: "b", From: played.Begin, To: g.Clock.Now(), Most: 5}
	track, err := inquiry.Spells(t.Context(), g.Log, of)
	if err != nil || track.From <= of.From || len(track.Spells) == 0 || track.Spells[0].From != track.From {
		t.Fatalf("%+v, err %v", track, err)
	}
	of.Account = "nobody"
	if track, err = inquiry.Spells(t.Context(), g.Log, of); err != nil || len(track.Spells) != 0 {
		t.Fatalf("nobody stood like %+v, err %v", track, err)
	}
}
