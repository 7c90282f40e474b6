package admission

import (
	"cmp"
	"strings"

	"github.com/waybill/waybill/events"
)

// key is a scope inside its owner. Names are in lower case: a model is the same
// model however a client, a provider or a console spells it.
type key struct {
	kind events.ScopeKind
	name string
}

func (k key) compare(o key) int {
	if c := cmp.Compare(k.kind, o.kind); c != 0 {
		return c
	}
	return cmp.Compare(k.name, o.name)
}

func (k key) scope() events.Scope { return events.Scope{Kind: k.kind, Name: k.name} }

// wide says that the key stands for all of its owner.
func (k key) wide() bool {
	return k.kind == events.ScopeEndpoint || k.kind == events.ScopeGroup || k.kind == events.ScopeAccount
}

// shared says that a quota group's members share the axis (R21).
func shared(axis events.Axis) bool {
	return axis == events.AxisWindow || axis == events.AxisCredit || axis == events.AxisPayment
}

// target is where evidence of an axis and scope belongs; nil when it touches
// no account. An account without a host or a group takes what names them.
func (a *account) target(s *shelf, axis events.Axis, scope events.Scope) (*owner, key) {
	switch scope.Kind {
	case events.ScopeRequest:
		return nil, key{}
	case events.ScopeEndpoint:
		if a.endpoint != nil {
			return a.endpoint, a.endpoint.wide()
		}
		return &s.owner, s.wide()
	case events.ScopeGroup:
		if a.group != nil {
			return a.group, a.group.wide()
		}
		return &s.owner, s.wide()
	}
	o := &s.owner
	if shared(axis) && a.group != nil {
		o = a.group
	}
	switch scope.Kind {
	case events.ScopeFamily, events.ScopeModel:
		return o, key{scope.Kind, strings.ToLower(scope.Name)}
	case events.ScopeNone:
		return o, key{kind: events.ScopeNone}
	}
	return o, o.wide()
}

// orElse is the scope that a row named, else the default of its rule.
func orElse(named events.Scope, otherwise events.ScopeKind, model string) events.Scope {
	if named.Kind != events.ScopeUnset {
		return named
	}
	if otherwise == events.ScopeModel {
		if model == "" {
			return events.Scope{Kind: events.ScopeAccount}
		}
		return events.Scope{Kind: events.ScopeModel, Name: model}
	}
	return events.Scope{Kind: otherwise}
}

// covers says whether a cell with this key covers a path of the account. Model
// is in lower case; "" asks about the account itself.
func (a *account) covers(k key, model string) bool {
	switch {
	case k.wide():
		return true
	case model == "":
		return false
	case k.kind == events.ScopeModel:
		return k.name == model
	case k.kind == events.ScopeFamily:
		return a.inFamily(k.name, model)
	}
	return false
}

// inFamily asks the settings; a family that they do not name (one that somebody
// pushed) covers the models whose name holds it as a token.
func (a *account) inFamily(family, model string) bool {
	for i := range a.families {
		if a.families[i].Name == family {
			return anyGlob(a.families[i].Models, model)
		}
	}
	return hasToken(model, family)
}

func anyGlob(patterns []string, name string) bool {
	for _, p := range patterns {
		if events.Glob(p, name) {
			return true
		}
	}
	return false
}

// hasToken says whether name holds token between characters that are neither
// letters nor digits.
func hasToken(name, token string) bool {
	if token == "" {
		return false
	}
	for at := 0; at+len(token) <= len(name); {
		i := strings.Index(name[at:], token)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(token)
		if (i == 0 || !alnum(name[i-1])) && (end == len(name) || !alnum(name[end])) {
			return true
		}
		at = i + 1
	}
	return false
}

func alnum(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// lowered is the settings' families with names and patterns in lower case.
func lowered(in []events.Family) []events.Family {
	out := make([]events.Family, len(in))
	for i, f := range in {
		out[i].Name = strings.ToLower(f.Name)
		for _, p := range f.Models {
			out[i].Models = append(out[i].Models, strings.ToLower(p))
		}
	}
	return out
}
