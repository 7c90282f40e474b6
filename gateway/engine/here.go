package engine

import "github.com/waybill/waybill/projections/admission"

// here is what this process has a configuration of. Gateways of one ledger may
// differ for a while, when they are given a new configuration one by one: an
// account that another one has enrolled is not here, and cannot be sent to.
type here struct {
	ids        map[string]bool // nil before the first configuration: nothing is known to lack
	generation uint64          // of the roster that lacking was made of
	made       bool
	lacking    []uint32 // roster numbers
}

// are takes a configuration's accounts.
func (h *here) are(accounts []Enrolment) {
	h.ids, h.made = make(map[string]bool, len(accounts)), false
	for i := range accounts {
		h.ids[accounts[i].ID] = true
	}
}

// absent are the enrolled accounts that are not here. Nobody may change the list.
func (h *here) absent(v *admission.View) []uint32 {
	generation := v.RosterGeneration()
	if h.ids == nil || h.made && h.generation == generation {
		return h.lacking
	}
	h.generation, h.made, h.lacking = generation, true, nil
	for _, a := range v.Roster() {
		if !a.Retired && !h.ids[a.ID] {
			h.lacking = append(h.lacking, a.No)
		}
	}
	return h.lacking
}
