package events

// This file holds the closed vocabularies of the ledger. The numbers are
// stored and permanent: append, never reorder. The names are what people and
// scripts see.

// Axis is one independent way for an account to run out.
type Axis uint8

// The axes. Adding one is a row here and in the laws of projections/admission.
const (
	AxisNone Axis = iota
	AxisWindow
	AxisCredit
	AxisPayment
	AxisRate
	AxisAuth
	AxisHealth
	AxisOperator
)

var axisNames = []string{"", "window", "credit", "payment", "rate", "auth", "health", "operator"}

func (a Axis) String() string { return nameOf(axisNames, a) }

// ScopeKind says how wide a verdict is. Never wider than its evidence.
type ScopeKind uint8

// The scopes, widest first; ScopeRequest touches no account and ScopeNone
// gates no model that is routed (telemetry).
const (
	ScopeUnset ScopeKind = iota
	ScopeEndpoint
	ScopeGroup
	ScopeAccount
	ScopeFamily
	ScopeModel
	ScopeNone
	ScopeRequest
)

var scopeNames = []string{"", "endpoint", "group", "account", "family", "model", "none", "request"}

func (k ScopeKind) String() string { return nameOf(scopeNames, k) }

// Scope is a kind and, for family and model, a name. Endpoint, group and
// account are named by the event's account, whose enrolment says which.
type Scope struct {
	Kind ScopeKind
	Name string
}

// String is the contract's form: "account", "family:NAME", "model:NAME".
func (s Scope) String() string {
	if s.Name == "" {
		return s.Kind.String()
	}
	return s.Kind.String() + ":" + s.Name
}

// Class is what an answer of an upstream means, given by a provider's table.
type Class uint8

// The classes of the contract.
const (
	ClassNone Class = iota
	ClassSuccess
	ClassRateLimited
	ClassWindowExhausted
	ClassCreditsExhausted
	ClassOverloaded
	ClassServerError
	ClassNetwork
	ClassTimeout
	ClassAuthFailed
	ClassForbidden
	ClassPolicyRefused
	ClassInvalidRequest
	ClassNotFound
	ClassModelUnsupported
	ClassUnclassified
	ClassMalformed
	ClassClientAborted
	ClassLost
)

var classNames = []string{"", "success", "rate_limited", "window_exhausted", "credits_exhausted", "overloaded",
	"server_error", "network", "timeout", "auth_failed", "forbidden", "policy_refused", "invalid_request",
	"not_found", "model_unsupported", "unclassified", "malformed", "client_aborted", "lost"}

func (c Class) String() string { return nameOf(classNames, c) }

// Reason is why a path is not admitted.
type Reason uint8

// The reasons of the contract.
const (
	ReasonNone Reason = iota
	ReasonWindowExhausted
	ReasonCreditExhausted
	ReasonPaymentRequired
	ReasonRateLimited
	ReasonAuthFailed
	ReasonCoolingDown
	ReasonDrained
	ReasonParkedByOperator
	ReasonModelUnsupported
	ReasonTrialInProgress
	ReasonSaturated
	ReasonAlreadyTried
	ReasonNotConfigured // the gateway that decided has no configuration of the account: another one enrolled it
)

var reasonNames = []string{"", "window_exhausted", "credit_exhausted", "payment_required", "rate_limited",
	"auth_failed", "cooling_down", "drained", "parked_by_operator", "model_unsupported", "trial_in_progress",
	"saturated", "already_tried", "not_configured"}

func (r Reason) String() string { return nameOf(reasonNames, r) }

// Skips says whether a candidate of this reason was kept out of a decision: one
// that the request has tried before is not, it has had its turn.
func (r Reason) Skips() bool { return r != ReasonNone && r != ReasonAlreadyTried }

// Dialect is the protocol a client speaks.
type Dialect uint8

// The dialects.
const (
	DialectNone Dialect = iota
	DialectOpenAI
	DialectAnthropic
	DialectGemini
)

var dialectNames = []string{"", "openai", "anthropic", "gemini"}

func (d Dialect) String() string { return nameOf(dialectNames, d) }

// Strategy is how one of several admitted accounts is chosen (R15).
type Strategy uint8

// The strategies; StrategyNone stands for the default, balanced.
const (
	StrategyNone Strategy = iota
	StrategyBalanced
	StrategyOrdered
	StrategyRoundRobin
	StrategyLeastBusy
)

var strategyNames = []string{"", "balanced", "ordered", "round_robin", "least_busy"}

func (s Strategy) String() string { return nameOf(strategyNames, s) }

// WhenExhausted says what the last path does when only claims stand (R16).
type WhenExhausted uint8

// Probe tries the last path early; Refuse refuses on claims too.
const (
	WhenExhaustedProbe WhenExhausted = iota
	WhenExhaustedRefuse
)

var whenExhaustedNames = []string{"probe", "refuse"}

func (w WhenExhausted) String() string { return nameOf(whenExhaustedNames, w) }

// Honour says when X-Should-Retry: false stops failover (R9).
type Honour uint8

// The three policies of R9.
const (
	HonourExcept402 Honour = iota
	HonourAlways
	HonourNever
)

var honourNames = []string{"except_402", "always", "never"}

func (h Honour) String() string { return nameOf(honourNames, h) }

// Plan is a billing plan as a provider reports it; unknown counts as free.
type Plan uint8

// The plans.
const (
	PlanUnknown Plan = iota
	PlanPaid
	PlanFree
)

var planNames = []string{"unknown", "paid", "free"}

func (p Plan) String() string { return nameOf(planNames, p) }

// Followed is what the gateway did after an attempt that did not succeed.
type Followed uint8

// FollowedFailover: another account was tried next. FollowedReturned: the
// client got this answer (or its replacement, R17). FollowedNothing: the
// client had left, the stream was already committed, or the process died.
// FollowedSearch: another account could not be asked at once, and the request
// waited for a trial or claimed one; what came of it is its next
// attempt.routed, or its request.ended.
const (
	FollowedNothing Followed = iota
	FollowedFailover
	FollowedReturned
	FollowedSearch
)

var followedNames = []string{"nothing", "failover", "returned", "search"}

// GoesOn says that the request was not over with this outcome. Events from
// before request.ended say failover where the search for another account
// failed, too.
func (f Followed) GoesOn() bool { return f == FollowedFailover || f == FollowedSearch }

func (f Followed) String() string { return nameOf(followedNames, f) }

// TrialEnd is why a trial's slot ended without a success or a fact (R4).
type TrialEnd uint8

// Neutral rests for trial_backoff; client and undispatched end at once.
const (
	TrialNeutral TrialEnd = iota
	TrialCausedByClient
	TrialNotDispatched
)

var trialEndNames = []string{"neutral", "caused_by_client", "not_dispatched"}

func (t TrialEnd) String() string { return nameOf(trialEndNames, t) }

func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

func parseName[T ~uint8](names []string, s string) (T, bool) {
	for i, n := range names {
		if n == s {
			return T(i), true
		}
	}
	return 0, false
}

// ParseClass reads a class by its contract name.
func ParseClass(s string) (Class, bool) { return parseName[Class](classNames, s) }

// ParseDialect reads a dialect by its name.
func ParseDialect(s string) (Dialect, bool) { return parseName[Dialect](dialectNames, s) }

// ParseStrategy reads a strategy by its contract name.
func ParseStrategy(s string) (Strategy, bool) { return parseName[Strategy](strategyNames, s) }

// ParseWhenExhausted reads probe or refuse.
func ParseWhenExhausted(s string) (WhenExhausted, bool) {
	return parseName[WhenExhausted](whenExhaustedNames, s)
}

// ParseHonour reads except_402, always or never.
func ParseHonour(s string) (Honour, bool) { return parseName[Honour](honourNames, s) }

// ParsePlan reads paid, free or unknown.
func ParsePlan(s string) (Plan, bool) { return parseName[Plan](planNames, s) }

// ParseScope reads the contract's form; "" is the account.
func ParseScope(s string) (Scope, bool) {
	if s == "" {
		return Scope{Kind: ScopeAccount}, true
	}
	kind, name := s, ""
	for i := range s {
		if s[i] == ':' {
			kind, name = s[:i], s[i+1:]
			break
		}
	}
	k, ok := parseName[ScopeKind](scopeNames, kind)
	named := k == ScopeFamily || k == ScopeModel
	if !ok || k == ScopeUnset || named != (name != "") {
		return Scope{}, false
	}
	return Scope{Kind: k, Name: name}, true
}
