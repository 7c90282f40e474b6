// Package roster numbers accounts as decisions name them: by the rank of their
// first enrolment, from 1 on; one that is enrolled again keeps its number. It
// must not know what an account is.
package roster

import "github.com/waybill/waybill/projections/canon"

// Numbers are accounts by number and by id. The zero value is empty. It is not
// safe for concurrent use.
type Numbers struct {
	ids  []string
	byID map[string]uint32
}

// Enrol gives an account its number, and says whether it is a new one.
func (n *Numbers) Enrol(id string) (no uint32, fresh bool) {
	if no = n.byID[id]; no != 0 {
		return no, false
	}
	if n.byID == nil {
		n.byID = map[string]uint32{}
	}
	n.ids = append(n.ids, id)
	no = uint32(len(n.ids))
	n.byID[id] = no
	return no, true
}

// Of is an account's number, 0 when it was never enrolled.
func (n *Numbers) Of(id string) uint32 { return n.byID[id] }

// ID is the account of a number, "" for none.
func (n *Numbers) ID(no uint32) string {
	if no == 0 || int(no) > len(n.ids) {
		return ""
	}
	return n.ids[no-1]
}

// Len is how many there are.
func (n *Numbers) Len() int { return len(n.ids) }

// State writes them, or reads them back.
func (n *Numbers) State(c *canon.Coder) {
	canon.Slice(c, &n.ids, (*canon.Coder).String)
	if !c.Reading() {
		return
	}
	n.byID = make(map[string]uint32, len(n.ids))
	for i, id := range n.ids {
		n.byID[id] = uint32(i + 1)
	}
}
