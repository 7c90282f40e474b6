package pins

// table is a bounded map in order of use: a map of slots, and the slots in a
// doubly linked ring with the oldest after its head. Which pin is dropped
// depends on the order of events alone.
type table struct {
	at    map[key]int32
	slots []slot // slot 0 is the head of the ring
	free  int32  // first unused slot, linked by next; 0 none
	limit int
}

type slot struct {
	key        key
	pin        Pin
	prev, next int32
}

func newTable(limit int) table {
	return table{at: map[key]int32{}, slots: make([]slot, 1), limit: limit}
}

func (t *table) len() int { return len(t.at) }

func (t *table) get(k key) (Pin, bool) {
	i, ok := t.at[k]
	if !ok {
		return Pin{}, false
	}
	return t.slots[i].pin, true
}

// put sets a pin as the newest used; one of account 0 removes it.
func (t *table) put(k key, p Pin) {
	i, ok := t.at[k]
	switch {
	case p.Account == 0:
		if ok {
			t.remove(i)
		}
		return
	case ok:
		t.unlink(i)
	default:
		if len(t.at) >= t.limit {
			t.remove(t.slots[0].next)
		}
		i = t.take()
		t.at[k] = i
	}
	t.slots[i].key, t.slots[i].pin = k, p
	t.append(i)
}

func (t *table) take() int32 {
	if i := t.free; i != 0 {
		t.free = t.slots[i].next
		return i
	}
	t.slots = append(t.slots, slot{})
	return int32(len(t.slots) - 1)
}

func (t *table) remove(i int32) {
	t.unlink(i)
	delete(t.at, t.slots[i].key)
	t.slots[i] = slot{next: t.free}
	t.free = i
}

func (t *table) unlink(i int32) {
	s := &t.slots[i]
	t.slots[s.prev].next, t.slots[s.next].prev = s.next, s.prev
}

func (t *table) append(i int32) {
	last := t.slots[0].prev
	t.slots[i].prev, t.slots[i].next = last, 0
	t.slots[last].next, t.slots[0].prev = i, i
}

// dropAccount removes every pin to an account.
func (t *table) dropAccount(account uint32) {
	if account == 0 {
		return
	}
	for i := t.slots[0].next; i != 0; {
		next := t.slots[i].next
		if t.slots[i].pin.Account == account {
			t.remove(i)
		}
		i = next
	}
}

// each visits the pins, the one used longest ago first.
func (t *table) each(visit func(*slot)) {
	for i := t.slots[0].next; i != 0; i = t.slots[i].next {
		visit(&t.slots[i])
	}
}
