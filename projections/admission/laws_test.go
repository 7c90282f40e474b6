package admission

import (
	"os"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
)

// instants are when a history is judged: now, and further on.
func (c *chronicler) instants() []events.Time {
	return []events.Time{c.now, c.now.Add(c.span()), c.now.Add(c.span() * 10), c.now.Add(c.span() * 100)}
}

func TestAdmitAgreesWithItsDumbTwin(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 2000)) {
		c := newChronicler(t, seed)
		for range 20 + c.IntN(30) {
			c.step()
			if c.IntN(4) > 0 {
				continue
			}
			c.compare(t, seed, pick(c, theAccounts), pick(c, append(theModels, "")), pick(c, c.instants()))
		}
		for _, a := range theAccounts {
			c.compare(t, seed, a, pick(c, theModels), c.now)
		}
	}
}

// What comes in time is judged exactly however long the history is: the bounds
// cost only what arrives late.
func TestAdmitAgreesWithItsDumbTwinOverLongHistories(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 400)/10) {
		c := newChronicler(t, seed)
		c.punctual = true
		for i := range 400 {
			if c.step(); i%40 == 39 {
				c.compare(t, seed, pick(c, theAccounts), pick(c, append(theModels, "")), pick(c, c.instants()))
			}
		}
	}
}

func (c *chronicler) compare(t *testing.T, seed uint64, account, model string, now events.Time) {
	t.Helper()
	twin := twin{log: c.w.log}
	want := twin.admit(account, model, &c.w.policy, now)
	got := c.w.admit(account, model, now)
	got.Valid = 0
	if got != want {
		c.w.dump(t)
		for _, r := range Explain(c.w.v, c.w.path(account, model), &c.w.policy, now) {
			t.Logf("%+v", r)
		}
		t.Fatalf("seed %d, %s %s at %s:\nview %s %+v\ntwin %s %+v", seed, account, model, now, show(got), got, show(want), want)
	}
}

// dump prints the history when a single seed is looked at.
func (w *world) dump(t *testing.T) {
	if os.Getenv("WAYBILL_SEED") == "" {
		return
	}
	for i := range w.log {
		e := &w.log[i]
		line := string(events.AppendJSON(nil, &events.Event{Header: events.Header{ObservedAt: e.ObservedAt, Account: e.Account, Epoch: e.Epoch, Model: e.Model, Request: e.Request, Attempt: e.Attempt}, Position: e.Position, Data: e.Data}))
		t.Log(strings.NewReplacer("00000000-0000-0000-0000-", "", "2026-11-30T", "", `"hash":"`+strings.Repeat("0", 64)+`"`, "", "0000000000000", "").Replace(line))
	}
}
