package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/waybill/waybill/events"
)

// ErrOverride: a row cannot be overridden. The text says why.
var ErrOverride = errors.New("rule cannot be overridden")

// Meaning is what an operator says of a row of low confidence: that it never
// decides, or that it means another class.
type Meaning struct {
	Off   bool
	Class events.Class
}

// ParseMeaning reads "off" or a class that an answer of an upstream can have.
func ParseMeaning(s string) (Meaning, bool) {
	if s == "off" {
		return Meaning{Off: true}, true
	}
	c, ok := events.ParseClass(s)
	switch c {
	case events.ClassNone, events.ClassSuccess, events.ClassClientAborted, events.ClassLost, events.ClassNetwork:
		return Meaning{}, false
	}
	return Meaning{Class: c}, ok
}

// Override changes rows by id, in all providers that have them. Only rows of
// low confidence may be changed: the others are read in sources, and a refusal
// of identity or abuse is not to be argued with. The providers given stay as
// they are.
func Override(all []*Provider, changes map[string]Meaning) ([]*Provider, error) {
	if err := overridable(all, changes); err != nil {
		return nil, err
	}
	out := make([]*Provider, len(all))
	for i, p := range all {
		out[i] = p.with(changes)
	}
	return out, nil
}

// overridable looks for ids that no row has, and for rows that are certain.
func overridable(all []*Provider, changes map[string]Meaning) error {
	known := map[string]Confidence{}
	for _, p := range all {
		for i := range p.Rules {
			known[p.Rules[i].ID] = p.Rules[i].Confidence
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		switch c, ok := known[id]; {
		case !ok:
			return fmt.Errorf("%w: no row has the id %q (docs/providers.md lists them)", ErrOverride, id)
		case c != Low:
			return fmt.Errorf("%w: %s is of %s confidence; only low ones may be changed", ErrOverride, id, c)
		}
	}
	return nil
}

func (p *Provider) with(changes map[string]Meaning) *Provider {
	if !slices.ContainsFunc(p.Rules, func(r Rule) bool { _, ok := changes[r.ID]; return ok }) {
		return p
	}
	changed := *p
	changed.Rules = make([]Rule, 0, len(p.Rules))
	for _, r := range p.Rules {
		if m, ok := changes[r.ID]; ok && !m.Off {
			r = r.meaning(m.Class)
		} else if ok {
			continue
		}
		changed.Rules = append(changed.Rules, r)
	}
	return &changed
}

// meaning gives a row another class. What belongs to the old class only goes
// with it.
func (r Rule) meaning(c events.Class) Rule {
	r.Class = c
	if c != events.ClassRateLimited {
		r.BySize = 0
	}
	if c != events.ClassForbidden {
		r.Permanent = false
	}
	return r
}
