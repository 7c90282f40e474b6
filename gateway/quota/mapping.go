package quota

import (
	"fmt"
	"strconv"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// Mapping says where in an answer the numbers stand. Paths are those of package
// tree: names joined by dots, list members by number or selector.
type Mapping struct {
	Windows []WindowMap
	Credit  *CreditMap
}

// WindowMap maps one window, or one for each member of a list.
type WindowMap struct {
	Name      string // with Each: a path in the member if it names text there
	Scope     events.Scope
	Length    time.Duration
	Each      string // path of a list; the other paths then count from its members
	Used      string
	Limit     string
	Remaining string
	Ratio     bool // used and remaining are shares of one
	Percent   bool // used and remaining are percentages
	Reached   string
	ResetsAt  string // in any form of time
}

// CreditMap maps a credit budget.
type CreditMap struct {
	Used, Limit, Available, Reached, ResetsAt string
}

// Read reads an answer. One in which none of the mapped fields stands is void:
// the mapping is wrong, or the answer is not what was expected.
func (m Mapping) Read(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok {
		return nil, fmt.Errorf("%w: no JSON", provider.ErrVoid)
	}
	g := &gauge{Gauge: provider.Gauge{At: at}}
	r := &events.Reading{Source: "http"}
	for i := range m.Windows {
		r.Windows = append(r.Windows, m.Windows[i].read(g, doc)...)
	}
	if m.Credit != nil {
		r.Credit = m.Credit.read(g, doc)
	}
	g.bound(r)
	if err := g.err(); err != nil {
		return nil, err
	}
	if len(r.Windows) == 0 && r.Credit == nil {
		return nil, fmt.Errorf("%w: none of the mapped fields stands in the answer", provider.ErrVoid)
	}
	return r, nil
}

func (m *WindowMap) read(g *gauge, doc tree.Node) []events.Window {
	if m.Each == "" {
		if w, ok := m.window(g, doc); ok {
			w.Name = m.Name
			return []events.Window{w}
		}
		return nil
	}
	members := doc.All(m.Each)
	if len(members) == 1 && members[0].IsArray() {
		members = members[0].Items()
	}
	var out []events.Window
	for i, n := range members {
		if w, ok := m.window(g, n); ok {
			w.Name = m.nameOf(n, i)
			out = append(out, w)
		}
	}
	return out
}

// nameOf: every member needs a name of its own, since windows are told apart
// by it.
func (m *WindowMap) nameOf(n tree.Node, i int) string {
	if m.Name != "" {
		if name := n.At(m.Name).Text(); name != "" {
			return name[:min(len(name), maxName)]
		}
	}
	if i == 0 && m.Name != "" {
		return m.Name
	}
	return m.Name + strconv.Itoa(i)
}

// window reads one; ok says that any of its fields stands there.
func (m *WindowMap) window(g *gauge, n tree.Node) (events.Window, bool) {
	w := events.Window{Scope: m.Scope, Length: m.Length, Reached: g.at(n, m.Reached).Flag(), ResetsAt: g.Time(g.at(n, m.ResetsAt).Text())}
	if w.Scope.Kind == events.ScopeUnset {
		w.Scope.Kind = events.ScopeAccount
	}
	used, limit, left := g.Number(g.at(n, m.Used)), g.Number(g.at(n, m.Limit)), g.Number(g.at(n, m.Remaining))
	switch {
	case m.Ratio:
		w.UsedPercent, w.RemainingPercent = provider.Percent(used), provider.Percent(left)
	case m.Percent:
		w.UsedPercent, w.RemainingPercent = used, left
	default:
		w.Used, w.Limit = used, limit
		amounts(&w, left)
	}
	_, w.Reported = w.Left()
	return w, w.Reported || w.Reached != events.Absent || used.Set || limit.Set
}

// amounts reads what remains as an amount. Without a limit it is no share of
// anything: then it speaks as a flag, both ways.
func amounts(w *events.Window, left events.OptDecimal) {
	switch {
	case !left.Set:
	case w.Limit.Set && w.Limit.V > 0:
		w.RemainingPercent = events.Dec(provider.Share(left.V, w.Limit.V))
		if !w.Used.Set {
			w.Used = events.Dec(w.Limit.V - left.V)
		}
	case w.Reached == events.Absent:
		w.Reached = events.Bool(left.V <= 0)
	}
}

// at is the node of a path; an empty path names nothing.
func (g *gauge) at(n tree.Node, path string) tree.Node {
	if path == "" {
		return tree.Node{}
	}
	return n.At(path)
}

func (m *CreditMap) read(g *gauge, doc tree.Node) *events.Credit {
	c := &events.Credit{
		Used: g.Number(g.at(doc, m.Used)), Limit: g.Number(g.at(doc, m.Limit)),
		Available: g.at(doc, m.Available).Flag(), Reached: g.at(doc, m.Reached).Flag(),
		ResetsAt: g.Time(g.at(doc, m.ResetsAt).Text()),
	}
	// "available" may be an amount of money instead of a flag.
	if left := g.amount(g.at(doc, m.Available)); left.Set {
		c.Available = events.Bool(left.V > 0)
	}
	if c.Used.Set && c.Limit.Set && c.Limit.V > 0 {
		c.UsedPercent = events.Dec(provider.Share(c.Used.V, c.Limit.V))
	}
	if !c.Used.Set && !c.Limit.Set && c.Available == events.Absent && c.Reached == events.Absent {
		return nil
	}
	return c
}

// amount reads a number where a flag may stand as well.
func (g *gauge) amount(n tree.Node) events.OptDecimal {
	if n.Flag() != events.Absent {
		return events.OptDecimal{}
	}
	return g.Number(n)
}
