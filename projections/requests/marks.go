package requests

// marks tell roster numbers that were met from those that were not. Beginning
// anew costs nothing, whatever was marked before.
type marks struct {
	round uint32
	met   []uint32        // the round in which a number was met last
	far   map[uint32]bool // numbers that no account of the roster has
}

// begin forgets all marks. most is the highest number that is to be expected.
func (m *marks) begin(most int) {
	if m.round++; m.round == 0 || len(m.met) <= most {
		m.round, m.met = 1, make([]uint32, max(most+1, len(m.met)))
	}
	clear(m.far)
}

// first marks a number and says whether it was met for the first time.
func (m *marks) first(no uint32) bool {
	if int(no) < len(m.met) {
		first := m.met[no] != m.round
		m.met[no] = m.round
		return first
	}
	if m.far == nil {
		m.far = map[uint32]bool{}
	}
	first := !m.far[no]
	m.far[no] = true
	return first
}
