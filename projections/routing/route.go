package routing

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// member is one account of a route, with the model as it would be sent there.
type member struct {
	account *admission.Account
	model   string
	tier    int
	weight  int64     // configured, 1 to 1e6
	seed    [2]uint64 // of the account's id, for the rendezvous
	source  bool      // has a quota source
}

// route is what an asked model resolves to in a dialect.
type route struct {
	strategy events.Strategy
	members  []member // tier by tier, in configured order
	digest   events.Digest
	gates    []gate // one per member
}

// maxWeight bounds a configured weight, so that products fit 64 bits.
const maxWeight = 1_000_000

// RouteOf names the set of accounts that an asked model resolves to, and the
// cursor that round_robin counts there: one per configured model.
func RouteOf(v View, dialect events.Dialect, asked string) (route events.Digest, strategy events.Strategy) {
	r := v.route(dialect, asked)
	return r.digest, r.strategy
}

// resolve reads a model's name in this order: a configured model; account/model
// and provider/model, which always choose; and, where no models are configured,
// every account that serves the name. A prefix that its accounts do not know
// the model of gives way to an account that lists the whole name: some names
// have a slash of their own.
func resolve(v *admission.View, dialect events.Dialect, asked string) *route {
	r := &route{strategy: events.StrategyBalanced}
	doc, _ := v.Document()
	slash := strings.Contains(asked, "/")
	switch named := configured(doc, asked); {
	case named != nil:
		r.fill(v, dialect, named)
	case slash && r.prefixed(v, dialect, asked, known):
	case slash && somebodyLists(v, dialect, asked) && r.open(v, doc, dialect, asked):
	case slash && r.prefixed(v, dialect, asked, allowed):
	case slash && namesAccount(v, asked): // it is the one that is meant, and does not serve this
	default:
		r.open(v, doc, dialect, asked)
	}
	r.digest = r.name()
	r.gates = make([]gate, len(r.members))
	return r
}

// configured finds the model by its exact name, else by a name that differs
// in case alone, if just one does.
func configured(doc *events.Document, asked string) *events.Route {
	var folded *events.Route
	n := 0
	for i := range doc.Models {
		m := &doc.Models[i]
		if m.Name == asked {
			return m
		}
		if strings.EqualFold(m.Name, asked) {
			folded = m
			n++
		}
	}
	if n == 1 {
		return folded
	}
	return nil
}

// SentAs is the name that a model goes to an account under; the asked one where
// the account is not among those that serve it.
func SentAs(v *admission.View, no uint32, asked string) string {
	if asked == "" {
		return ""
	}
	for _, m := range resolve(v, events.DialectNone, asked).members {
		if m.account.No == no {
			return m.model
		}
	}
	return asked
}

func (r *route) fill(v *admission.View, dialect events.Dialect, m *events.Route) {
	if m.Strategy != events.StrategyNone {
		r.strategy = m.Strategy
	}
	for t := range m.Tiers {
		tier := &m.Tiers[t]
		sent := tier.Model
		if sent == "" {
			sent = m.Name
		}
		from := len(r.members)
		for _, a := range tierAccounts(v, tier) {
			if speaks(a, dialect) && (allowed(a, sent) || allowed(a, m.Name)) {
				r.add(a, sent, t)
			}
		}
		r.arrange(from)
	}
}

func tierAccounts(v *admission.View, tier *events.Tier) []*admission.Account {
	var out []*admission.Account
	if len(tier.Accounts) == 0 {
		for _, a := range v.Roster() {
			if strings.EqualFold(a.Settings.Provider, tier.Provider) {
				out = append(out, a)
			}
		}
		return out
	}
	for _, id := range tier.Accounts {
		if a := v.Account(id); a != nil {
			out = append(out, a)
		}
	}
	return out
}

// prefixed resolves account/model and provider/model, the account's name
// first. The prefix is not sent.
func (r *route) prefixed(v *admission.View, dialect events.Dialect, asked string, serves serving) bool {
	prefix, model, ok := strings.Cut(asked, "/")
	if !ok || prefix == "" || model == "" {
		return false
	}
	for _, named := range []func(*admission.Account) string{accountName, providerName} {
		for _, a := range v.Roster() {
			if strings.EqualFold(named(a), prefix) && speaks(a, dialect) && serves(a, model) {
				r.add(a, model, 0)
			}
		}
		if len(r.members) > 0 {
			r.arrange(0)
			return true
		}
	}
	return false
}

// namesAccount: what stands before the slash is an account's id.
func namesAccount(v *admission.View, asked string) bool {
	prefix, _, _ := strings.Cut(asked, "/")
	return slices.ContainsFunc(v.Roster(), func(a *admission.Account) bool { return !a.Retired && strings.EqualFold(a.ID, prefix) })
}

func accountName(a *admission.Account) string  { return a.ID }
func providerName(a *admission.Account) string { return a.Settings.Provider }

// open takes every account that serves the model by this very name. Where
// models are configured, clients may ask for nothing else.
func (r *route) open(v *admission.View, doc *events.Document, dialect events.Dialect, asked string) bool {
	if len(doc.Models) > 0 || asked == "" {
		return false
	}
	for _, a := range v.Roster() {
		if speaks(a, dialect) && known(a, asked) {
			r.add(a, asked, 0)
		}
	}
	r.arrange(0)
	return len(r.members) > 0
}

// somebodyLists: the whole name, slash and all, is some account's own model.
func somebodyLists(v *admission.View, dialect events.Dialect, asked string) bool {
	return slices.ContainsFunc(v.Roster(), func(a *admission.Account) bool {
		return speaks(a, dialect) && known(a, asked) && len(a.Settings.Known)+len(a.Settings.Models) > 0
	})
}

// serving says whether an account serves a model.
type serving func(a *admission.Account, model string) bool

// allowed: the account's allow-list has it.
func allowed(a *admission.Account, model string) bool {
	return events.GlobAny(a.Settings.Models, model)
}

// known: and its provider is known for it, or is not known to be limited.
func known(a *admission.Account, model string) bool {
	return allowed(a, model) && events.GlobAny(a.Settings.Known, model)
}

func speaks(a *admission.Account, dialect events.Dialect) bool {
	return !a.Retired && (dialect == events.DialectNone || slices.Contains(a.Settings.Dialects, dialect))
}

func (r *route) add(a *admission.Account, model string, tier int) {
	s := &a.Settings
	id := events.DigestOf("rendezvous", a.ID)
	r.members = append(r.members, member{
		account: a, model: model, tier: tier,
		weight: min(max(s.Weight, 1), maxWeight),
		seed:   halves(id),
		source: s.QuotaSource != "" && s.QuotaSource != "none",
	})
}

// arrange puts a tier in configured order: by priority, then as listed.
func (r *route) arrange(from int) {
	slices.SortStableFunc(r.members[from:], func(a, b member) int {
		return int(min(max(a.account.Settings.Priority-b.account.Settings.Priority, -1), 1))
	})
}

// name digests the set of accounts, so that aliases, spellings and dialects
// that mean the same accounts share their pins.
func (r *route) name() events.Digest {
	ids := make([]string, 0, len(r.members)+1)
	for i := range r.members {
		ids = append(ids, r.members[i].account.ID)
	}
	slices.Sort(ids)
	return events.DigestOf(slices.Insert(slices.Compact(ids), 0, "route")...)
}

func halves(d events.Digest) [2]uint64 {
	return [2]uint64{binary.BigEndian.Uint64(d[:8]), binary.BigEndian.Uint64(d[8:])}
}
