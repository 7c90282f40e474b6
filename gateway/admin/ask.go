package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/projections/story"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/projections/whatif"
)

// The questions behind the calls, which the console asks too.

// About says what the gateway is.
func (a *API) About() About { return a.o.About }

// Version is the binary's.
func (a *API) Version() string { return a.o.Version }

// Now is the gateway's clock.
func (a *API) Now() events.Time { return a.o.Engine.Now() }

// Guard is who may call.
func (a *API) Guard() *Guard { return &a.guard }

// Checks are the conditions of readiness.
func (a *API) Checks(ctx context.Context) []Check {
	if a.o.Ready == nil {
		return nil
	}
	return a.o.Ready(ctx)
}

// Policy is the one in force, as the running view has it.
func (a *API) Policy() (p events.Policy) {
	a.o.Engine.View(func(v routing.View, _ events.Position, _ events.Time) {
		doc, _ := v.Admission.Document()
		p = doc.Policy
	})
	return p
}

// Log is the ledger, to be read.
func (a *API) Log() inquiry.Log { return a.o.Log }

// Events are up to limit events after a position, as stored.
func (a *API) Events(ctx context.Context, after events.Position, f ledger.Filter, limit int) ([]events.Event, error) {
	return a.o.Log.Read(ctx, after, f, limit)
}

// Accounts are the rows of the accounts that are enrolled: of the running view,
// or as of a moment if one is asked for. id narrows to one account, retired ones
// included, and model asks about that model.
func (a *API) Accounts(ctx context.Context, m inquiry.Moment, asked bool, id, model string) (out []story.Account, err error) {
	if !asked {
		return a.live(ctx, id, model)
	}
	err = a.few(ctx, func(ctx context.Context) error {
		out, err = inquiry.Accounts(ctx, a.o.Log, m, id, model)
		return err
	})
	return out, err
}

// live reads the running gateway's view.
func (a *API) live(ctx context.Context, id, model string) ([]story.Account, error) {
	var taken []story.Taken
	a.o.Engine.View(func(v routing.View, at events.Position, now events.Time) {
		for _, acct := range v.Admission.Roster() {
			if id == acct.ID || id == "" && !acct.Retired {
				taken = append(taken, story.Take(v.Admission, acct.No, routing.SentAs(v.Admission, acct.No, model), at, now))
			}
		}
	})
	if id != "" && len(taken) == 0 {
		return nil, fmt.Errorf("account %s: %w", id, inquiry.ErrUnknownAccount)
	}
	look := inquiry.Lookup(ctx, a.o.Log)
	out := make([]story.Account, len(taken))
	for i := range taken {
		out[i] = taken[i].Finish(look, a.o.Engine.InFlight(taken[i].No()))
	}
	return out, nil
}

// Spells are how an account stood over a span of time.
func (a *API) Spells(ctx context.Context, of inquiry.TrackOf) (t inquiry.Track, err error) {
	err = a.few(ctx, func(ctx context.Context) (err error) {
		t, err = inquiry.Spells(ctx, a.o.Log, of)
		return err
	})
	return t, err
}

// Requests lists requests: from the live view where it holds all that is asked
// for, else out of the ledger, and always so as of a moment if one is asked for.
// more says that others follow.
func (a *API) Requests(ctx context.Context, m inquiry.Moment, asked bool, ask requests.Query) (rows []story.Row, more bool, err error) {
	if !asked {
		var whole bool
		if rows, more, whole = a.liveRows(ask); whole {
			return rows, more, nil
		}
	}
	err = a.few(ctx, func(ctx context.Context) (err error) {
		rows, more, err = inquiry.RequestsAt(ctx, a.o.Log, m, ask)
		return err
	})
	return rows, more, err
}

// liveRows asks the live view. whole is false when older requests, which it may
// have dropped, could belong to the answer.
func (a *API) liveRows(ask requests.Query) (rows []story.Row, more, whole bool) {
	a.o.Engine.Requests(func(v *requests.View, _ events.Position) {
		var found []requests.Row
		found, more = v.List(ask)
		rows = story.Rows(found, v.Account)
		gone := v.Complete()
		last := events.Position(0)
		if len(found) > 0 {
			last = found[len(found)-1].First
		}
		whole = gone == 0 || !ask.OldestFirst && more && last > gone || ask.After >= gone
	})
	return rows, more, whole
}

// Skips are the reasons behind the skipped accounts of rows, in their order.
func (a *API) Skips(ctx context.Context, rows []story.Row) [][]inquiry.Skip {
	look, out := inquiry.Lookup(ctx, a.o.Log), make([][]inquiry.Skip, len(rows))
	var names []string // by roster number, from 1 on
	a.o.Engine.View(func(v routing.View, _ events.Position, _ events.Time) {
		for _, acct := range v.Admission.Roster() {
			names = append(names, acct.ID)
		}
	})
	for i := range rows {
		out[i] = inquiry.Skips(look, &rows[i], func(no uint32) string {
			if no == 0 || int(no) > len(names) {
				return ""
			}
			return names[no-1]
		})
	}
	return out
}

// Story is the story of a request, as far as it had come at a moment; the zero
// one is now.
func (a *API) Story(ctx context.Context, m inquiry.Moment, id uuid.UUID) (s story.Request, err error) {
	err = a.few(ctx, func(ctx context.Context) (err error) {
		s, err = inquiry.StoryAt(ctx, a.o.Log, m, id)
		return err
	})
	return s, err
}

// Usage sums what was recorded between two instants (zero: no bound), up to a
// moment; the zero one is now. It is priced where there is a price table.
func (a *API) Usage(ctx context.Context, m inquiry.Moment, by usage.By, since, until events.Time) (sums []usage.Sum, err error) {
	of := inquiry.UsageOf{By: by, Since: since, Until: until}
	if a.o.Prices != nil {
		of.Prices = a.o.Prices()
	}
	err = a.few(ctx, func(ctx context.Context) (err error) {
		sums, err = inquiry.Usage(ctx, a.o.Log, m, of)
		return err
	})
	return sums, err
}

// Replay plays recorded traffic under another policy.
func (a *API) Replay(ctx context.Context, o whatif.Options, p inquiry.Progress) (out whatif.Result, err error) {
	err = a.alone(ctx, func(ctx context.Context) (err error) {
		out, err = inquiry.Replay(ctx, a.o.Log, o, p)
		return err
	})
	return out, err
}

// LedgerState says where the ledger ends, or ended at a moment, and how far the
// views are.
func (a *API) LedgerState(ctx context.Context, m inquiry.Moment) (LedgerState, error) {
	head, err := inquiry.HeadAt(ctx, a.o.Log, m)
	if err != nil {
		return LedgerState{}, err
	}
	out := a.Own()
	out.Position, out.Hash, out.RecordedAt = head.Position, head.Hash.String(), head.RecordedAt
	if err := a.parts(ctx, &out); err != nil {
		return LedgerState{}, err
	}
	if err := a.others(ctx, &out); err != nil {
		return LedgerState{}, err
	}
	a.o.Engine.View(func(_ routing.View, at events.Position, _ events.Time) { out.Folded = at })
	out.Lag = uint64(max(head.Position, out.Folded) - out.Folded)
	return out, nil
}

// Own is what this process knows without asking the ledger: how far its views
// are, what waits in its spool, its last checkpoint, and how long events are kept.
func (a *API) Own() (out LedgerState) {
	if a.o.Spool != nil {
		s := a.o.Spool()
		out.Spool = &s
	}
	if a.o.Retention != nil {
		kept := a.o.Retention()
		out.Retention = &kept
	}
	out.Checkpoint = a.signed()
	a.o.Engine.View(func(_ routing.View, at events.Position, _ events.Time) { out.Folded = at })
	return out
}

// others fills in the gateways on the ledger.
func (a *API) others(ctx context.Context, out *LedgerState) (err error) {
	out.Gateways, err = inquiry.Gateways(ctx, a.o.Log, out.Position)
	for i := range out.Gateways {
		out.Gateways[i].Own = out.Gateways[i].Writer == a.o.Engine.Writer()
	}
	return err
}

// Verify checks the whole ledger and derives every decision again.
func (a *API) Verify(ctx context.Context, p inquiry.Progress) (v inquiry.Verdict, err error) {
	err = a.alone(ctx, func(ctx context.Context) (err error) {
		v, err = inquiry.Verify(ctx, a.o.Log, inquiry.VerifyOptions{Progress: p})
		return err
	})
	return v, err
}
