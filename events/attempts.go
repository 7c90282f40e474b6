package events

import "time"

// Verdict is one candidate's verdict as a decision records it: who, why and on
// what evidence. The rest follows from the fold and is not repeated.
type Verdict struct {
	Account  uint32 // roster number
	Reason   Reason // ReasonNone: admitted
	Evidence Ref    // the deciding event; 0 when the reason needs none (saturated, already tried)
}

func (p *Verdict) fields(c *coder) {
	c.uint32(1, "account", &p.Account)
	enum(c, 2, "reason", &p.Reason, reasonNames)
	c.ref(3, "evidence", &p.Evidence)
}

// Cell is an axis and a scope of the envelope's account: where evidence
// collects and what a trial claims.
type Cell struct {
	Axis  Axis
	Scope Scope
}

func (p *Cell) fields(c *coder) {
	enum(c, 1, "axis", &p.Axis, axisNames)
	c.scope(2, "scope", &p.Scope)
}

// Trial is the slot that a dispatch takes in the cells that it tests (R4).
type Trial struct {
	Cells []Cell
	Step  uint32 // 1 + the highest step standing in the cells
	Lease Time   // the slot ends here at the latest
}

func (p *Trial) fields(c *coder) {
	repeated(c, 1, "cells", &p.Cells)
	c.uint32(2, "step", &p.Step)
	c.time(3, "lease", &p.Lease)
}

// Load is an account's requests in flight when a decision was made: an input
// that the ledger does not hold otherwise. Recorded only where it was used.
type Load struct {
	Account  uint32
	InFlight int64
}

func (p *Load) fields(c *coder) {
	c.uint32(1, "account", &p.Account)
	c.int64(2, "in_flight", &p.InFlight)
}

// Stamp is everything that a decision depended on, so that it can be derived
// again: fold to View, then this writer's events up to Pending, and decide.
type Stamp struct {
	DecidedAt Time
	View      Position // committed position of the view
	Pending   uint64   // own writer_seq up to which the view had folded
	Rules     uint32   // version of the decision function
	Policy    Digest   // of the document in force
	Client    string   // client id, "" when clients are not told apart
	Dialect   Dialect
	Asked     string // the model as the client named it
	Session   Digest // of client and session; zero when the request has none
	Tie       uint32 // roster number of a hard tie (R14), 0 when none
	Tried     []uint32
	Loads     []Load
	Cursor    uint64        // round_robin
	Waited    time.Duration // for a pin or a trial, so far
	Last      bool          // the last attempt that max_attempts allows
	Tested    bool          // an earlier attempt of this request was a trial (R4: at most one)
	Avoid     []string      // endpoints that an answer of this request ruled out for it
	Offline   bool          // the ledger cannot be reached: nothing can be claimed (R4)
	Unclaimed Time          // this process's newest unclaimed dispatch while offline, 0 when none
	Claimed   uint32        // roster number of the account whose slot this attempt has just claimed, 0 when none
	Absent    []uint32      // accounts that the process which decided has no configuration of
}

func (p *Stamp) fields(c *coder) {
	c.time(1, "decided_at", &p.DecidedAt)
	c.position(2, "view", &p.View)
	c.uint64(3, "pending", &p.Pending)
	c.uint32(4, "rules", &p.Rules)
	c.digest(5, "policy", &p.Policy)
	c.word(6, "client", &p.Client)
	enum(c, 7, "dialect", &p.Dialect, dialectNames)
	c.word(8, "asked", &p.Asked)
	c.digest(9, "session", &p.Session)
	c.uint32(10, "tie", &p.Tie)
	uints(c, 11, "tried", &p.Tried)
	repeated(c, 12, "loads", &p.Loads)
	c.uint64(13, "cursor", &p.Cursor)
	c.duration(14, "waited", &p.Waited)
	c.bool(15, "last", &p.Last)
	c.bool(16, "tested", &p.Tested)
	c.strings(17, "avoid", &p.Avoid)
	c.bool(18, "offline", &p.Offline)
	c.time(19, "unclaimed", &p.Unclaimed)
	c.uint32(20, "claimed", &p.Claimed)
	uints(c, 21, "absent", &p.Absent)
}

// AttemptRouted is a decision to dispatch. The envelope holds the chosen
// account, the model as sent, the request and the attempt.
type AttemptRouted struct {
	Stamp     Stamp
	Chosen    uint32    // roster number
	Skipped   []Verdict // candidates of the tiers looked at that were not chosen, in order; admitted ones included
	Listed    Ref       // candidates.listed that holds all candidates, the chosen one included, when more than 16 were not chosen
	Strategy  Strategy
	Weight    int64
	Trial     *Trial
	LastPath  bool   // R16: tried early because nothing else is left
	Unclaimed bool   // R4: tried while the ledger cannot be reached
	Pinned    bool   // chosen because the session is pinned there
	Route     Digest // set of accounts that the asked model resolves to, where the request has a session: its pin slides
}

// Kind implements Payload.
func (*AttemptRouted) Kind() Kind { return KindAttemptRouted }

func (p *AttemptRouted) fields(c *coder) {
	inline(c, 1, "stamp", &p.Stamp)
	c.uint32(2, "chosen", &p.Chosen)
	repeated(c, 3, "skipped", &p.Skipped)
	c.ref(4, "listed", &p.Listed)
	enum(c, 5, "strategy", &p.Strategy, strategyNames)
	c.int64(6, "weight", &p.Weight)
	message(c, 7, "trial", &p.Trial)
	c.bool(8, "last_path", &p.LastPath)
	c.bool(9, "unclaimed", &p.Unclaimed)
	c.bool(10, "pinned", &p.Pinned)
	c.digest(11, "route", &p.Route)
}

// Usage is what an answer says that it cost; absent is not zero. Input always
// means all input tokens, cached ones included; Output all output tokens,
// reasoning included, whatever the dialect counts apart.
type Usage struct {
	Input       OptInt
	CachedInput OptInt // part of Input
	CacheWrite  OptInt // part of Input
	Output      OptInt
	Reasoning   OptInt // part of Output
	Partial     bool   // the answer broke off: what was seen so far
}

func (p *Usage) fields(c *coder) {
	c.optInt(1, "input_tokens", &p.Input)
	c.optInt(2, "cached_input_tokens", &p.CachedInput)
	c.optInt(3, "cache_write_tokens", &p.CacheWrite)
	c.optInt(4, "output_tokens", &p.Output)
	c.optInt(5, "reasoning_tokens", &p.Reasoning)
	c.bool(6, "partial", &p.Partial)
}

// Answer is what every outcome knows of the upstream's answer.
type Answer struct {
	Status       uint32 // HTTP status, 0 when there was no answer
	DispatchedAt Time
	AnsweredAt   Time          // of the fact: the terminal success, the error frame, the failure
	FirstByte    time.Duration // from dispatch to the first meaningful frame, 0 when none came
	Usage        *Usage        // nil: the answer said nothing
	Reading      *Reading      // in-band quota headers or frames
	UpstreamID   string        // the provider's request id, at most 128 bytes
	Free         bool          // the operation uses no tokens of its own: a count, an answer that was stored before
}

func (p *Answer) fields(c *coder) {
	c.uint32(1, "status", &p.Status)
	c.time(2, "dispatched_at", &p.DispatchedAt)
	c.time(3, "answered_at", &p.AnsweredAt)
	c.duration(4, "first_byte", &p.FirstByte)
	message(c, 5, "usage", &p.Usage)
	message(c, 6, "reading", &p.Reading)
	c.string(7, "upstream_id", &p.UpstreamID)
	c.bool(8, "free", &p.Free)
}

// AttemptSucceeded is a protocol-level terminal success, not a status.
type AttemptSucceeded struct {
	Answer   Answer
	Terminal string   // terminal state seen: stop, message_stop, [DONE], body, ...
	Knew     Position // the facts up to here were in the view of the decision that dispatched it (R6)
	KnewOwn  uint64   // likewise own pending events up to this writer_seq
}

// Kind implements Payload.
func (*AttemptSucceeded) Kind() Kind { return KindAttemptSucceeded }

func (p *AttemptSucceeded) fields(c *coder) {
	inline(c, 1, "answer", &p.Answer)
	c.word(2, "terminal", &p.Terminal)
	c.position(3, "knew", &p.Knew)
	c.uint64(4, "knew_own", &p.KnewOwn)
}

// Hint is what an answer says about when to come back.
type Hint struct {
	Value   string // as stated, at most 64 bytes
	Until   Time   // the instant it names, read once by the one time parser
	Source  string // header:NAME, body:PATH, message:PATTERN, calendar:RULE, policy:RULE
	Guessed bool   // from wording or a policy: not a stated reset (R7)
}

func (p *Hint) fields(c *coder) {
	c.string(1, "value", &p.Value)
	c.time(2, "until", &p.Until)
	c.word(3, "source", &p.Source)
	c.bool(4, "guessed", &p.Guessed)
}

// Reply is what the client got when a failed attempt was its last.
type Reply struct {
	Status      uint32
	Code        string // refusal code where the answer was replaced (R17), else ""
	RetryAfter  int64  // seconds, 0 when the header is absent
	RetrySource string // account whose instant it is, by id
	Left        []Verdict
	Listed      Ref // candidates.listed with the same, when there are more than 16
}

func (p *Reply) fields(c *coder) {
	c.uint32(1, "status", &p.Status)
	c.word(2, "code", &p.Code)
	c.int64(3, "retry_after", &p.RetryAfter)
	c.string(4, "retry_source", &p.RetrySource)
	repeated(c, 5, "left", &p.Left)
	c.ref(6, "listed", &p.Listed)
}

// Failure is an outcome that is not a success.
type Failure struct {
	Answer     Answer
	Class      Class
	Rule       string // row of the provider's table that decided
	Scope      Scope
	Hint       *Hint
	Step       uint32 // of the attempt's trial, 0 when it was none (counts as 1)
	Permanent  bool   // forbidden until an operator or a new epoch (R11)
	BodyDigest Digest
	BodyHead   string // first bytes of the error body, secrets removed, at most 512
	Followed   Followed
	Reply      *Reply // set when Followed is FollowedReturned
	Committed  bool   // bytes had reached the client
	Passed     bool   // the attempt's trial had passed before it failed (R4)
}

func (p *Failure) fields(c *coder) {
	inline(c, 1, "answer", &p.Answer)
	enum(c, 2, "class", &p.Class, classNames)
	c.word(3, "rule", &p.Rule)
	c.scope(4, "scope", &p.Scope)
	message(c, 5, "hint", &p.Hint)
	c.uint32(6, "step", &p.Step)
	c.bool(7, "permanent", &p.Permanent)
	c.digest(8, "body_digest", &p.BodyDigest)
	c.string(9, "body_head", &p.BodyHead)
	enum(c, 10, "followed", &p.Followed, followedNames)
	message(c, 11, "reply", &p.Reply)
	c.bool(12, "committed", &p.Committed)
	c.bool(13, "passed", &p.Passed)
}

// AttemptRateLimited is a failure of the classes rate_limited and window_exhausted.
type AttemptRateLimited struct{ Failure }

// Kind implements Payload.
func (*AttemptRateLimited) Kind() Kind { return KindAttemptRateLimited }

// AttemptPaymentRequired is a failure of class credits_exhausted, under any status.
type AttemptPaymentRequired struct{ Failure }

// Kind implements Payload.
func (*AttemptPaymentRequired) Kind() Kind { return KindAttemptPaymentRequired }

// AttemptFailed is a failure of every other class, lost included.
type AttemptFailed struct{ Failure }

// Kind implements Payload.
func (*AttemptFailed) Kind() Kind { return KindAttemptFailed }

// AttemptAborted says that the client left: nobody's failure.
type AttemptAborted struct{ Failure }

// Kind implements Payload.
func (*AttemptAborted) Kind() Kind { return KindAttemptAborted }

// FailureEvent is the payload that a failure of this class is recorded as.
func FailureEvent(f Failure) Payload {
	switch f.Class {
	case ClassRateLimited, ClassWindowExhausted:
		return &AttemptRateLimited{f}
	case ClassCreditsExhausted:
		return &AttemptPaymentRequired{f}
	case ClassClientAborted:
		return &AttemptAborted{f}
	default:
		return &AttemptFailed{f}
	}
}

// FailureOf is the failure inside a payload, if it is one.
func FailureOf(p Payload) (*Failure, bool) {
	switch p := p.(type) {
	case *AttemptRateLimited:
		return &p.Failure, true
	case *AttemptPaymentRequired:
		return &p.Failure, true
	case *AttemptFailed:
		return &p.Failure, true
	case *AttemptAborted:
		return &p.Failure, true
	}
	return nil, false
}

// ReadingOf is what an event says of quota and when that was said: a reading by
// itself, or the one inside an answer. nil: it says nothing of quota.
func ReadingOf(e *Event) (*Reading, Time) {
	var a *Answer
	switch p := e.Data.(type) {
	case *QuotaFetched:
		return &p.Reading, e.ObservedAt
	case *AttemptSucceeded:
		a = &p.Answer
	default:
		f, ok := FailureOf(p)
		if !ok {
			return nil, 0
		}
		a = &f.Answer
	}
	if a.AnsweredAt == 0 {
		return a.Reading, e.ObservedAt
	}
	return a.Reading, a.AnsweredAt
}

// RequestRefused is an answer that Waybill made itself: no attempt of the
// request got one (R17).
type RequestRefused struct {
	Stamp       Stamp
	Code        string // accounts_exhausted, accounts_unavailable, model_not_found, saturated
	Status      uint32
	RetryAfter  int64  // seconds, 0 when the header is absent
	RetrySource string // account whose instant it is, by id
	Earliest    Time   // earliest `until` over the candidates, for people
	Verdicts    []Verdict
	Listed      Ref // candidates.listed with the same, when there are more than 16
}

// Kind implements Payload.
func (*RequestRefused) Kind() Kind { return KindRequestRefused }

func (p *RequestRefused) fields(c *coder) {
	inline(c, 1, "stamp", &p.Stamp)
	c.word(2, "code", &p.Code)
	c.uint32(3, "status", &p.Status)
	c.int64(4, "retry_after", &p.RetryAfter)
	c.string(5, "retry_source", &p.RetrySource)
	c.time(6, "earliest", &p.Earliest)
	repeated(c, 7, "verdicts", &p.Verdicts)
	c.ref(8, "listed", &p.Listed)
}

// RequestEnded says what became of a request whose last outcome was recorded
// while another account was still being looked for: the search found nobody in
// time, the client left meanwhile, or the process died. It judges no account.
type RequestEnded struct {
	Class Class // of the last attempt; client_aborted when the client left, lost when the process died
	Reply Reply // what the client got
}

// Kind implements Payload.
func (*RequestEnded) Kind() Kind { return KindRequestEnded }

func (p *RequestEnded) fields(c *coder) {
	enum(c, 1, "class", &p.Class, classNames)
	inline(c, 2, "reply", &p.Reply)
}

// CandidatesListed is a list of more than 16 verdicts, stored once. It is
// referred to by its position, or, while it is pending, by minus the writer's
// own number of it: then it lies between the view's position and the event
// that refers to it.
type CandidatesListed struct{ Verdicts []Verdict }

// Kind implements Payload.
func (*CandidatesListed) Kind() Kind { return KindCandidatesListed }

func (p *CandidatesListed) fields(c *coder) { repeated(c, 1, "verdicts", &p.Verdicts) }
