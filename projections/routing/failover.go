package routing

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// Onward is what a row of a provider's table says about another account.
type Onward uint8

// The words of a row, in the order of the provider package's own.
const (
	OnwardByClass       Onward = iota // the class decides
	OnwardNever                       // the request ends here
	OnwardOtherEndpoint               // no other account of the same endpoint
	OnwardAlways                      // another account may serve, whatever the class says
)

// Made is one attempt that a request has made.
type Made struct {
	Account     uint32
	Class       events.Class
	Status      int
	Onward      Onward
	ShouldRetry string // the answer's X-Should-Retry, "" when it has none
}

// Walked is how far a request has come, its newest attempt last.
type Walked struct {
	Attempts  []Made
	Elapsed   time.Duration // since the request came in
	Committed bool          // bytes have reached the client
	Tied      bool          // only one account can serve the request (R14)
}

// Ends is why a walk ends; "" means that another account may be tried.
type Ends string

// The reasons.
const (
	GoesOn          Ends = ""
	EndsCommitted   Ends = "committed"
	EndsTied        Ends = "tied to its account"
	EndsByRow       Ends = "the provider's row says so"
	EndsByClass     Ends = "the request caused it"
	EndsShouldRetry Ends = "X-Should-Retry: false"
	EndsAlike       Ends = "two accounts answered alike"
	EndsAttempts    Ends = "max_attempts"
	EndsElapsed     Ends = "max_elapsed"
)

// MayFailover says whether a request may go on to another account after its
// newest attempt (R9, R11, R12, R20). Whether one is left, Decide says.
func MayFailover(w *Walked, policy *events.Policy) Ends {
	newest := &w.Attempts[len(w.Attempts)-1]
	switch {
	case w.Committed:
		return EndsCommitted
	case newest.Class == events.ClassClientAborted || newest.Class == events.ClassSuccess:
		return EndsByClass
	case w.Tied:
		return EndsTied
	case newest.Onward == OnwardNever:
		return EndsByRow
	case stopsByHeader(newest, policy.HonourShouldRetry):
		return EndsShouldRetry
	case newest.Onward == OnwardByClass && !goesOn[newest.Class]:
		return EndsByClass
	case alike(w.Attempts):
		return EndsAlike
	case LastAttempt(uint32(len(w.Attempts)), policy):
		return EndsAttempts
	case w.Elapsed >= policy.MaxElapsed:
		return EndsElapsed
	}
	return GoesOn
}

// LastAttempt says that a request makes no further attempt after this one,
// counted from 1, whatever comes of it.
func LastAttempt(attempt uint32, policy *events.Policy) bool { return attempt >= policy.MaxAttempts }

// goesOn: the class speaks about the account, the endpoint or the moment, not
// about the request.
var goesOn = [...]bool{
	events.ClassRateLimited:      true,
	events.ClassWindowExhausted:  true,
	events.ClassCreditsExhausted: true,
	events.ClassOverloaded:       true,
	events.ClassServerError:      true,
	events.ClassNetwork:          true,
	events.ClassTimeout:          true,
	events.ClassAuthFailed:       true,
	events.ClassForbidden:        true, // identity and abuse: their rows say never (R20)
	events.ClassModelUnsupported: true,
	events.ClassUnclassified:     true,
	events.ClassMalformed:        true,
	events.ClassLost:             false,
}

// stopsByHeader is R9: the header speaks about the same account, so that it
// never stops a walk away from one whose credits are gone.
func stopsByHeader(m *Made, honour events.Honour) bool {
	if !strings.EqualFold(strings.TrimSpace(m.ShouldRetry), "false") {
		return false
	}
	spent := m.Class == events.ClassCreditsExhausted
	switch honour {
	case events.HonourNever:
		return false
	case events.HonourExcept402:
		if spent {
			return false
		}
	}
	return spent || m.Status == 403 || m.Status == 429 || m.Status >= 500
}

// alike: two accounts gave an answer that no row classifies, so it belongs to
// the request. Account-scoped classes, overload, 5xx and network never do.
func alike(attempts []Made) bool {
	newest := &attempts[len(attempts)-1]
	if newest.Class != events.ClassUnclassified && newest.Class != events.ClassMalformed {
		return false
	}
	for i := range attempts[:len(attempts)-1] {
		m := &attempts[i]
		if m.Class == newest.Class && m.Status == newest.Status && m.Account != newest.Account {
			return true
		}
	}
	return false
}
