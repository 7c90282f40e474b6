package routing

import (
	"fmt"
	"testing"

	"github.com/waybill/waybill/events"
)

// Model names come from clients, so what is kept of them is bounded; what is
// kept is used, until the roster changes.
func TestTheCacheKeepsWhatFits(t *testing.T) {
	asked := func(i int) string { return fmt.Sprintf("m%d", i) }
	t.Run("used until the roster changes", func(t *testing.T) {
		v := pool(t, 3)
		first := v.route(events.DialectOpenAI, "m")
		if v.route(events.DialectOpenAI, "m") != first {
			t.Error("it is resolved again")
		}
		fold(v, "another", &events.AccountEnrolled{Settings: events.Settings{Provider: "x", Endpoint: "x.test", Dialects: []events.Dialect{events.DialectOpenAI}}})
		if n := len(v.route(events.DialectOpenAI, "m").members); n != 4 {
			t.Errorf("%d accounts, want 4", n)
		}
	})
	t.Run("so many names", func(t *testing.T) {
		v := pool(t, 1)
		for i := range maxRoutes {
			v.route(events.DialectOpenAI, asked(i))
		}
		if n := len(v.Cache.routes); n != maxRoutes {
			t.Errorf("%d names are kept, want %d", n, maxRoutes)
		}
		v.route(events.DialectOpenAI, "one more")
		if n := len(v.Cache.routes); n != 1 {
			t.Errorf("%d names are kept, want 1", n)
		}
	})
	t.Run("so many verdicts", func(t *testing.T) {
		v := pool(t, maxGates/4)
		for i := range 4 {
			v.route(events.DialectOpenAI, asked(i))
		}
		if n := len(v.Cache.routes); n != 4 {
			t.Errorf("%d names are kept, want 4", n)
		}
		v.route(events.DialectOpenAI, "one more")
		if n := len(v.Cache.routes); n != 1 {
			t.Errorf("%d names are kept, want 1", n)
		}
	})
	t.Run("not a name that nobody serves", func(t *testing.T) {
		v := roster(t, open())
		v.route(events.DialectOpenAI, "m")
		if n := len(v.Cache.routes); n != 0 {
			t.Errorf("%d names are kept, want 0", n)
		}
	})
}
