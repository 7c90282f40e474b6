package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// Enrolment is one configured account, without its credential.
type Enrolment struct {
	ID       string
	Epoch    events.Epoch
	Settings events.Settings
}

// learnedPrefix marks a quota group that an answer taught us, so that a
// configuration that names no group does not take it away again.
const learnedPrefix = "learned:"

// Adopt appends what a configuration changes: accounts enrolled, changed and
// retired, and the routing document. It returns how many events that took,
// once they are durable and folded. Requests in flight are untouched; the next
// decision is made under the new document.
func (e *Engine) Adopt(ctx context.Context, accounts []Enrolment, doc events.Document) (int, error) {
	e.mu.Lock()
	e.here.are(accounts)
	drafts := e.difference(accounts, doc)
	if len(drafts) == 0 {
		e.mu.Unlock()
		return 0, nil
	}
	if gone := retired(drafts); len(gone) > 0 && e.log.Writers() != nil {
		e.logger.Warn("this configuration retires accounts for all gateways of the ledger: give all of them the same one", "accounts", gone)
	}
	c, err := e.recorded(drafts...)
	e.adopted = e.adopted || err == nil
	e.mu.Unlock()
	if err != nil {
		return 0, err
	}
	_, err = c.durable(ctx, "record configuration")
	return len(drafts), err
}

// difference is what lies between the views and a configuration.
func (e *Engine) difference(accounts []Enrolment, doc events.Document) []events.Draft {
	var drafts []events.Draft
	wanted := make(map[string]bool, len(accounts))
	for i := range accounts {
		wanted[accounts[i].ID] = true
		if p := enrol(e.view.Admission.Account(accounts[i].ID), &accounts[i]); p != nil {
			drafts = append(drafts, events.Draft{Header: events.Header{Account: accounts[i].ID, Epoch: accounts[i].Epoch}, Data: p})
		}
	}
	for _, a := range e.view.Admission.Roster() {
		if !a.Retired && !wanted[a.ID] {
			drafts = append(drafts, events.Draft{Header: events.Header{Account: a.ID, Epoch: a.Epoch}, Data: &events.AccountRetired{Cause: "configuration"}})
		}
	}
	if _, digest := e.view.Admission.Document(); !e.adopted || digest != doc.Digest() {
		drafts = append(drafts, events.Draft{Data: &events.PolicyAdopted{Digest: doc.Digest(), Document: doc}})
	}
	return drafts
}

// retired are the accounts that leave.
func retired(drafts []events.Draft) (ids []string) {
	for i := range drafts {
		if drafts[i].Data.Kind() == events.KindAccountRetired {
			ids = append(ids, drafts[i].Header.Account)
		}
	}
	return ids
}

// enrol is the event that brings an account from what the view has to what is
// wanted, nil when nothing differs.
func enrol(has *admission.Account, want *Enrolment) events.Payload {
	if has == nil || has.Retired {
		return &events.AccountEnrolled{Settings: want.Settings}
	}
	if want.Settings.Group == "" && strings.HasPrefix(has.Settings.Group, learnedPrefix) {
		want.Settings.Group = has.Settings.Group
	}
	switch {
	case !sameSettings(has.Settings, want.Settings):
		return &events.AccountChanged{Settings: want.Settings, Cause: "configuration"}
	case has.Epoch != want.Epoch:
		return &events.AccountChanged{Settings: want.Settings, Cause: "credential"}
	}
	return nil
}

// sameSettings compares by stored bytes: what the ledger cannot tell apart is
// the same.
func sameSettings(a, b events.Settings) bool {
	x := events.Seal(&events.Draft{Data: &events.AccountEnrolled{Settings: a}})
	y := events.Seal(&events.Draft{Data: &events.AccountEnrolled{Settings: b}})
	return bytes.Equal(x.Payload, y.Payload)
}

// Renew records a new epoch of an account's credential. Evidence of the old
// one no longer counts (R11).
func (e *Engine) Renew(ctx context.Context, account string, epoch events.Epoch) error {
	return e.amend(ctx, account, func(want *Enrolment) { want.Epoch = epoch })
}

// Learn records the quota group that an account's answers name (R21); one that
// the configuration names stands.
func (e *Engine) Learn(ctx context.Context, account, group string) error {
	return e.amend(ctx, account, func(want *Enrolment) {
		if want.Settings.Group == "" || strings.HasPrefix(want.Settings.Group, learnedPrefix) {
			want.Settings.Group = learnedPrefix + group
		}
	})
}

// amend changes one account that is enrolled.
func (e *Engine) amend(ctx context.Context, account string, fn func(*Enrolment)) error {
	e.mu.Lock()
	has := e.view.Admission.Account(account)
	if has == nil || has.Retired {
		e.mu.Unlock()
		return fmt.Errorf("amend account %q: not enrolled", account)
	}
	want := Enrolment{ID: has.ID, Epoch: has.Epoch, Settings: has.Settings}
	fn(&want)
	p := enrol(has, &want)
	if p == nil {
		e.mu.Unlock()
		return nil
	}
	c, err := e.recorded(events.Draft{Header: events.Header{Account: account, Epoch: want.Epoch}, Data: p})
	e.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = c.durable(ctx, "amend account")
	return err
}

// Under says that the attempt goes on with another credential of its account:
// its outcome is evidence about that one (R11).
func (a *Attempt) Under(epoch events.Epoch) {
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	a.header.Epoch = epoch
}
