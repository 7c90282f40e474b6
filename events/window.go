package events

// Left is the percentage that is left of the window, by whichever of the
// provider's numbers tells it; ok is false where none does. It may be negative.
func (p *Window) Left() (left Decimal, ok bool) {
	switch {
	case p.RemainingPercent.Set:
		return p.RemainingPercent.V, true
	case p.UsedPercent.Set:
		return 100*DecimalUnit - p.UsedPercent.V, true
	case p.Used.Set && p.Limit.Set && p.Limit.V > 0:
		return percentLeft(p.Used.V, p.Limit.V), true
	}
	return 0, false
}

// percentLeft is 100 * (limit - used) / limit in integers that cannot overflow;
// a window with anything left never reads as empty.
func percentLeft(used, limit Decimal) Decimal {
	left := limit - used
	for left > 1<<33 || left < -1<<33 {
		left, limit = left/2, max(limit/2, 1)
	}
	p := left * 100 * DecimalUnit / limit
	if left > 0 {
		p = max(p, 1)
	}
	return p
}

// Speaks says whether the window is named with a flag or a reported number: one
// that is only named says nothing (R1).
func (p *Window) Speaks() bool {
	_, ok := p.Left()
	return p.Reached != Absent || ok && p.Reported
}

// Spent says whether the provider calls the window empty: by its flag, which is
// authoritative both ways, else by a reported number (R1). What follows from it
// is admission's to say.
func (p *Window) Spent() bool {
	if p.Reached != Absent {
		return p.Reached == Yes
	}
	left, ok := p.Left()
	return ok && p.Reported && left <= 0
}
