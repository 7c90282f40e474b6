package admission

import (
	"strings"

	"github.com/waybill/waybill/events"
)

// Room is one axis of quota that a path has, as its newest reading tells it:
// what placement weighs (R15). An override does not hide it (R6).
type Room struct {
	// Remaining is the percentage left, 0 to 100; 0 when a flag says that the
	// axis is spent, whatever its numbers say.
	Remaining  events.Decimal
	ResetsAt   events.Time // the axis' own reset, 0 unknown
	ObservedAt events.Time // newest confirmation
	Exhausted  bool        // as R1 or R10 judge it, the override apart
	InBand     bool        // the reading stood in an answer (R14: lets a pin move)
}

// AppendRooms appends the windows and credit budgets that gate the path. Those
// that say nothing about what is left, and those of scope none, are not there.
func (v *View) AppendRooms(dst []Room, p Path) []Room {
	a := v.row(p.Account)
	if a == nil {
		return dst
	}
	model := strings.ToLower(p.Model)
	for _, o := range [...]*owner{a.endpoint, a.group, &a.shelves[0].owner} {
		if o == nil {
			continue
		}
		t := o.top().tape
		for i := range t.claims {
			c := &t.claims[i]
			if left, exhausted, ok := c.room(a, model); ok {
				dst = append(dst, Room{Remaining: left, ResetsAt: c.reset(), ObservedAt: c.at, Exhausted: exhausted, InBand: c.inBand})
			}
		}
	}
	return dst
}

// room is what a claim leaves to a model of the account.
func (c *claim) room(a *account, model string) (left events.Decimal, exhausted, ok bool) {
	if !a.covers(c.key, model) {
		return 0, false, false
	}
	if c.credit != nil {
		return c.creditRoom(model)
	}
	left, known := c.window.Left()
	if c.window.Reached == events.Yes {
		return 0, c.out, true
	}
	return min(max(left, 0), 100*events.DecimalUnit), c.out, known
}

// creditRoom is a budget's room; a reached one that lists models leaves those
// that it does not close as they were.
func (c *claim) creditRoom(model string) (left events.Decimal, exhausted, ok bool) {
	if c.credit.Reached == events.Yes {
		if c.closes(model) {
			return 0, c.out, true
		}
		return 0, false, false
	}
	w := events.Window{Used: c.credit.Used, Limit: c.credit.Limit, UsedPercent: c.credit.UsedPercent}
	left, ok = w.Left()
	return min(max(left, 0), 100*events.DecimalUnit), false, ok
}

func (c *claim) closes(model string) bool {
	if len(c.credit.Models) == 0 {
		return true
	}
	for i := range c.credit.Models {
		if parks(c.credit.Models[i]) && strings.EqualFold(c.credit.Models[i].Model, model) {
			return true
		}
	}
	return false
}
