package gateway

// recent is a bounded memory: of more than it may keep, what came first goes
// first. It is not safe for concurrent use; the zero one is empty.
type recent[K comparable, V any] struct {
	of   map[K]V
	ring []K // oldest at next once it is full
	next int
}

// put notes a value; keep is how many stay.
func (r *recent[K, V]) put(k K, v V, keep int) {
	if r.of == nil {
		r.of = map[K]V{}
	}
	if _, known := r.of[k]; !known {
		if len(r.ring) < keep {
			r.ring = append(r.ring, k)
		} else {
			delete(r.of, r.ring[r.next])
			r.ring[r.next] = k
			r.next = (r.next + 1) % keep
		}
	}
	r.of[k] = v
}

func (r *recent[K, V]) get(k K) (v V, known bool) {
	v, known = r.of[k]
	return v, known
}
