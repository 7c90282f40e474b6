package pages

import "testing"

// BenchmarkCalls makes each reading call over 30,000 events.
func BenchmarkCalls(b *testing.B) {
	s := open(b, 30_000)
	calls := s.calls(b)
	for name, path := range calls {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.ask(b, name, path)
			}
		})
	}
}
