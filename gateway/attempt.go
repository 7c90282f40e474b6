package gateway

import (
	"net/http"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/projections/routing"
)

// attempt is one dispatch to one account, from the decision to its outcome.
type attempt struct {
	*engine.Attempt
	x      *exchange
	up     *upstream
	token  string
	w      *watch
	resp   *http.Response
	coding *coding           // of the answer's bytes, nil when they are plain
	look   dialect.Inspector // nil until an answer is being read
	answer events.Answer

	spare     bool // another attempt might find somebody
	committed bool // bytes have reached the client
	succeeded bool // recorded as a success
	recorded  bool // an outcome is recorded
}

// tries is what a request remembers of its attempts.
type tries struct {
	walked  routing.Walked
	tried   []uint32     // accounts, by roster number
	avoid   []string     // endpoints that an answer ruled out
	tested  bool         // an attempt was a trial
	account string       // of the newest attempt
	class   events.Class // of the newest outcome
	current *attempt     // under way
	last    *attempt     // the newest that failed
	why     *failure     // of the same
	search  bool         // it was recorded while another account was looked for
}

// abandon records an attempt that a fault of ours cut off, so that its slot
// and its place among the requests in flight are given back on every path.
func (t *tries) abandon() {
	a := t.current
	if a == nil {
		return
	}
	t.current = nil
	if a.w != nil {
		a.w.stop()
	}
	if a.resp != nil {
		a.resp.Body.Close()
	}
	if !a.recorded {
		f := a.verdict(provider.Finding{Class: events.ClassLost, Rule: "gateway:fault", Scope: requestScope})
		if a.x.status == 0 {
			reply := ownReply(internal())
			f.reply = &reply
		}
		a.fail(f)
	}
}

// failure is an attempt that did not succeed: what it means, and what the
// client could be given of it.
type failure struct {
	finding     provider.Finding
	status      int           // of the upstream's answer, 0 when there was none
	header      http.Header   // of the same
	body        []byte        // error body or error frame, plain; at most headLimit
	whole       bool          // body is all of it
	frame       bool          // an error inside a 200
	cause       error         // what broke, for the log
	gone        bool          // the client left
	stopped     bool          // the gateway stops
	reply       *events.Reply // what the client gets where Waybill answers by itself
	ledger      bool          // the decision could not be recorded
	malformed   string        // why a 200 is no answer
	shouldRetry string        // X-Should-Retry as sent
}

// verdict makes a failure of a finding alone.
func (a *attempt) verdict(f provider.Finding) *failure { return &failure{finding: f} }

// fail records an outcome that nothing followed.
func (a *attempt) fail(f *failure) {
	if a.recorded {
		return
	}
	a.Failed(a.event(f))
}

// failOver records a failure before the commit point with what follows it: the
// next attempt where it could be decided at once, or what is left where this
// answer becomes the client's; both nil: ask for the next attempt.
func (a *attempt) failOver(f *failure, goesOn bool) (*engine.Attempt, *engine.Refusal) {
	return a.FailedOver(a.event(f), a.x.ask(), goesOn, func(left *engine.Refusal) *events.Reply { return a.x.replyFor(f, left) })
}

// event is a failure as the ledger keeps it.
func (a *attempt) event(f *failure) events.Failure {
	a.recorded = true
	a.observeEnd(f.status)
	head, digest := a.bodyHead(f.body)
	a.x.tries.class = f.finding.Class
	e := events.Failure{
		Answer: a.answer, Class: f.finding.Class, Rule: f.finding.Rule, Scope: f.finding.Scope, Hint: f.finding.Hint,
		Permanent: f.finding.Permanent, BodyDigest: digest, BodyHead: head, Committed: a.committed,
	}
	if e.Reply = f.reply; f.reply != nil {
		e.Followed = events.FollowedReturned
	}
	return e
}

// succeed records a protocol-level terminal success.
func (a *attempt) succeed(terminal string) {
	if a.recorded {
		return
	}
	a.recorded, a.succeeded = true, true
	a.observeEnd(a.resp.StatusCode)
	a.Succeeded(a.answer, terminal)
	a.noteMade(a.look.Seen().ResponseID)
	a.x.tries.class = events.ClassSuccess
}

// observeEnd completes what every outcome says of the answer.
func (a *attempt) observeEnd(status int) {
	a.answer.Status = uint32(status)
	if a.answer.AnsweredAt == 0 {
		a.answer.AnsweredAt = a.x.g.engine.Now()
	}
	if a.answer.Free = a.x.route.Free(); a.answer.Free {
		return
	}
	if a.look != nil && a.answer.Usage == nil {
		if seen := a.look.Seen(); seen.Usage != nil {
			usage := *seen.Usage
			usage.Partial = usage.Partial || !a.succeeded
			a.answer.Usage = &usage
		}
	}
}

// meaningful notes the first meaningful frame.
func (a *attempt) meaningful() {
	if a.answer.FirstByte == 0 {
		a.answer.FirstByte = max(a.w.elapsed(), time.Microsecond)
		a.x.firstByte = time.Since(a.x.begun)
		a.Passed(a.x.g.engine.Now())
	}
}
