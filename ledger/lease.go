package ledger

import "context"

// Leases is implemented by stores that other processes share: of all processes
// at most one holds a name at a time. A lease decides who does a chore that
// need not be done twice; nothing that is recorded depends on it.
type Leases interface {
	// Lease runs fn whenever this process holds name. fn's context ends when
	// the name is lost, and fn must return then; another process may hold it
	// from then on. Lease returns when ctx ends, or when fn returns by itself.
	Lease(ctx context.Context, name string, fn func(ctx context.Context))
}

// Lease runs fn under a lease, or at once where no other process appends.
func (l *Log) Lease(ctx context.Context, name string, fn func(ctx context.Context)) {
	if s, ok := Part[Leases](l.store); ok {
		s.Lease(ctx, name, fn)
		return
	}
	fn(ctx)
}
