package inquiry_test

import (
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/test/played"
)

// The reasons of a list are those of the stories, for few candidates and for
// lists that are stored apart.
func TestSkipsSayWhatTheStoriesSay(t *testing.T) {
	for _, accounts := range []int{3, 40} {
		g, _ := played.InMemory(t, played.Names(accounts)...)
		g.Traffic(3, 150, 8)
		g.Settle()
		name := func(no uint32) (id string) {
			g.Requests(func(v *requests.View, _ events.Position) { id = v.Account(no) })
			return id
		}
		rows, _, err := inquiry.Requests(t.Context(), g.Log, requests.Query{})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for i := range rows {
			st, err := inquiry.Story(t.Context(), g.Log, rows[i].Request)
			if err != nil {
				t.Fatal(err)
			}
			first := map[string]string{}
			for _, d := range st.Decisions {
				for _, c := range d.Candidates {
					if c.Reason != "" && c.Reason != events.ReasonAlreadyTried.String() && !c.Chosen && first[c.Account] == "" {
						first[c.Account] = c.Reason
					}
				}
			}
			for _, s := range inquiry.Skips(inquiry.Lookup(t.Context(), g.Log), &rows[i], name) {
				if told++; s.Reason == "" || s.Reason != first[s.Account] {
					t.Errorf("%s skipped %s for %q, the story says %q", rows[i].Request, s.Account, s.Reason, first[s.Account])
				}
			}
		}
		if told < 30 {
			t.Errorf("only %d skips: the test tells little", told)
		}
	}
}
