package pins

// numbers are roster numbers by account id: the rank among enrolments, kept by
// an id that is enrolled again.
type numbers struct{ byID map[string]uint32 }

func (n *numbers) of(id string) uint32 { return n.byID[id] }

func (n *numbers) enrol(id string) {
	if n.byID == nil {
		n.byID = map[string]uint32{}
	}
	if n.byID[id] == 0 {
		n.byID[id] = uint32(len(n.byID) + 1)
	}
}

// ids lists the ids by number.
func (n *numbers) ids() []string {
	out := make([]string, len(n.byID))
	for id, no := range n.byID {
		out[no-1] = id
	}
	return out
}
