package ledger

// Part is what a store can do besides being a Store (Shared, Writers,
// Restorer, Segmented, ...), also when another store is put over it: that one
// is asked first, then what its Unwrap gives.
func Part[T any](s Store) (part T, ok bool) {
	for s != nil {
		if part, ok = s.(T); ok {
			return part, true
		}
		over, more := s.(interface{ Unwrap() Store })
		if !more {
			break
		}
		s = over.Unwrap()
	}
	return part, false
}
