package provider

import (
	"time"

	"github.com/waybill/waybill/events"
)

// Bucket is a window that an answer's headers tell of, by the canonical names
// of its limit, its remaining and its reset ("": none is told).
type Bucket struct {
	Name                    string
	Length                  time.Duration
	Limit, Remaining, Reset string
}

// AMinute is a bucket that lasts a minute, as most do.
func AMinute(name, limit, remaining, reset string) Bucket {
	return Bucket{Name: name, Length: time.Minute, Limit: limit, Remaining: remaining, Reset: reset}
}

// ReadBuckets is the reading of those buckets that an answer has, each of the
// model that was asked for. Numbers that are no numbers void it.
func ReadBuckets(a *Answer, all []Bucket) *events.Reading {
	g := Gauge{At: a.At, Header: a.Header}
	return g.Reading(g.Buckets(all, a.Model))
}

// Buckets are the windows of a model that the headers have.
func (g *Gauge) Buckets(all []Bucket, model string) (windows []events.Window) {
	for i := range all {
		if w, ok := g.bucket(&all[i]); ok {
			w.Scope = events.Scope{Kind: events.ScopeModel, Name: model}
			windows = append(windows, w)
		}
	}
	return windows
}

// bucket reads one; ok says that the answer has it. A negative remaining or
// limit is a sentinel for unknown.
func (g *Gauge) bucket(b *Bucket) (events.Window, bool) {
	w := events.Window{Name: b.Name, Length: b.Length, Limit: g.Text(g.Header.Get(b.Limit))}
	left := g.Text(g.Header.Get(b.Remaining))
	if !left.Set || left.V < 0 || w.Limit.Set && w.Limit.V <= 0 {
		return events.Window{}, false
	}
	if w.Limit.Set {
		w.Used = events.Dec(max(w.Limit.V-left.V, 0))
		w.RemainingPercent = events.Dec(Share(left.V, w.Limit.V))
	} else if left.V == 0 {
		w.RemainingPercent = events.Dec(0)
	}
	w.Reported = w.RemainingPercent.Set
	if b.Reset != "" {
		w.ResetsAt = g.Time(g.Header.Get(b.Reset))
	}
	return w, true
}
