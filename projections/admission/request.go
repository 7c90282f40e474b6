package admission

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// maxRequests bounds the requests whose unreadable 403 waits for its meaning.
// The oldest is forgotten first: its 403 then counts for nobody.
const maxRequests = 128

// mystery is a request that met a 403 that no row knows (R11), or that was
// served after a failover. Its meaning follows from both.
type mystery struct {
	request uuid.UUID
	asked   []suspect // accounts that answered it; more than one: it belongs to the request
	servers []uint32  // accounts that served it
}

// suspect is an unreadable 403 as a failure of health, should it become one.
type suspect struct {
	account uint32
	epoch   events.Epoch
	scope   events.Scope
	setback setback
	counted bool
}

// mysteries is the memory of both layers; a copy holds own pending events.
type mysteries struct {
	base []mystery
	over []mystery
	copy bool
}

func (m *mysteries) drop() { m.over, m.copy = nil, false }

func (f *fold) mystery() *mystery {
	m := &f.v.mysteries
	list := &m.base
	if f.pending {
		if !m.copy {
			m.copy, m.over = true, slices.Clone(m.base)
			for i := range m.over {
				m.over[i].asked = slices.Clone(m.over[i].asked)
				m.over[i].servers = slices.Clone(m.over[i].servers)
			}
		}
		list = &m.over
	}
	for i := range *list {
		if (*list)[i].request == f.e.Request {
			return &(*list)[i]
		}
	}
	if len(*list) >= maxRequests {
		*list = slices.Delete(*list, 0, 1)
	}
	*list = append(*list, mystery{request: f.e.Request})
	return &(*list)[len(*list)-1]
}

// unclassified notes a 403 that no row knows.
func (f *fold) unclassified(p *events.Failure, at events.Time) {
	if f.e.Request == uuid.Nil {
		return
	}
	m := f.mystery()
	n := setback{witness: f.witness(at), strict: true, step: max(p.Step, 1)}
	i := slices.IndexFunc(m.asked, func(s suspect) bool { return s.account == f.a.No })
	if i < 0 && len(m.asked) < 2 {
		m.asked = append(m.asked, suspect{account: f.a.No, epoch: f.e.Epoch, scope: p.Scope, setback: n})
	}
	f.solve(m)
}

// servedElsewhere notes that a request was served after a failover.
func (f *fold) servedElsewhere() {
	m := f.mystery()
	if !slices.Contains(m.servers, f.a.No) && len(m.servers) < 2 {
		m.servers = append(m.servers, f.a.No)
	}
	f.solve(m)
}

// solve decides what the request's 403 means as far as it is known now: one
// account alone refused it and another served it, or it counts for nobody.
func (f *fold) solve(m *mystery) {
	for i := range m.asked {
		s := &m.asked[i]
		guilty := len(m.asked) == 1 && slices.ContainsFunc(m.servers, func(n uint32) bool { return n != s.account })
		if guilty == s.counted {
			continue
		}
		s.counted = guilty
		at := *f
		at.a = f.v.accounts[s.account-1]
		o, k := at.a.target(at.shelf(at.a, s.epoch), events.AxisHealth, orElse(s.scope, events.ScopeAccount, ""))
		if o == nil || k.kind == events.ScopeNone {
			continue
		}
		if guilty {
			at.fail(o, k, s.setback)
			continue
		}
		if pl := at.write(o).change(at.a, k); pl != nil {
			pl.takeBack(&s.setback.witness)
			*o.gen++
		}
	}
}
