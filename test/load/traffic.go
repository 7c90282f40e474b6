package load

import "context"

// Traffic is load that goes on until it is told to rest.
type Traffic struct {
	*Client
	cancel context.CancelFunc
	done   chan struct{}
}

// Drive begins the load of so many workers on a gateway, on all of Models.
func Drive(url string, workers int, seed uint64) *Traffic {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Traffic{Client: New(url, Models...), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.Run(ctx, workers, 0, seed)
	}()
	return l
}

// Rest ends the load; what is under way is cut off. A second call is harmless.
func (l *Traffic) Rest() {
	l.cancel()
	<-l.done
}
