package bugs

import (
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/test/upstream"
)

// An account that came with a reload while a request waited for another's
// answer serves that request; one that left again is an attempt that failed.
func TestARequestGoesOnToAnAccountOfANewerConfiguration(t *testing.T) {
	for name, left := range map[string]bool{"it is there": false, "it has left again": true} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			all := w.config
			var enrolled []engine.Enrolment
			w.engine.View(func(v routing.View, _ events.Position, _ events.Time) {
				for _, a := range v.Admission.Roster() {
					enrolled = append(enrolled, engine.Enrolment{ID: a.ID, Epoch: a.Epoch, Settings: a.Settings})
				}
			})
			document := events.Document{Policy: testPolicy(), Models: (&plan{names: []string{"a", "b"}}).routes()}
			adopt := func(n int, c gateway.Config) {
				if _, err := w.engine.Adopt(t.Context(), enrolled[:n], document); err != nil {
					t.Error(err)
				}
				if err := w.gate.Adopt(c); err != nil {
					t.Error(err)
				}
			}
			few := all
			few.Accounts = all.Accounts[:3] // those of a
			adopt(3, few)
			w.up.Script("a", func(x *upstream.Exchange) error {
				if adopt(6, all); left {
					if err := w.gate.Adopt(few); err != nil {
						t.Error(err)
					}
				}
				return upstream.JSON(429, `{"error":{"message":"slow down"}}`)(x)
			})
			w.good("b")
			got := w.do(chat)
			w.finished(1)
			if left {
				if got.want(t, 502); !strings.Contains(got.body, "could not be sent (gateway:account_gone)") {
					t.Errorf("it says %q", got.body)
				}
			} else {
				got.want(t, 200)
			}
			if n := len(w.events(events.KindAttemptRouted)); n != len(w.classes()) || n != 2 {
				t.Errorf("%d attempts, outcomes %v", n, w.classes())
			}
		})
	}
}
