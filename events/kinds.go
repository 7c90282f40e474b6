package events

// Kind is an event's type: a permanent number in storage, a permanent
// subject.verb for people.
type Kind uint16

// The kinds. Append only.
const (
	KindNone Kind = iota
	KindGatewayStarted
	KindAccountEnrolled
	KindAccountChanged
	KindAccountRetired
	KindPolicyAdopted
	KindQuotaFetched
	KindQuotaFetchFailed
	KindAttemptRouted
	KindAttemptSucceeded
	KindAttemptRateLimited
	KindAttemptPaymentRequired
	KindAttemptFailed
	KindAttemptAborted
	KindRequestRefused
	KindCandidatesListed
	KindTrialClaimed
	KindTrialPassed
	KindTrialClosed
	KindPinSet
	KindPinMoved
	KindPinReleased
	KindOperatorReleased
	KindOperatorParked
	KindOperatorDrained
	KindOperatorUndrained
)

// kindRow is one line of the type table. version is the schema version that
// this binary writes; an older one is upcast on read.
type kindRow struct {
	name    string
	version uint16
	make    func() Payload
}

var kinds = [...]kindRow{
	KindGatewayStarted:         {"gateway.started", 1, func() Payload { return new(GatewayStarted) }},
	KindAccountEnrolled:        {"account.enrolled", 1, func() Payload { return new(AccountEnrolled) }},
	KindAccountChanged:         {"account.changed", 1, func() Payload { return new(AccountChanged) }},
	KindAccountRetired:         {"account.retired", 1, func() Payload { return new(AccountRetired) }},
	KindPolicyAdopted:          {"policy.adopted", 1, func() Payload { return new(PolicyAdopted) }},
	KindQuotaFetched:           {"quota.fetched", 1, func() Payload { return new(QuotaFetched) }},
	KindQuotaFetchFailed:       {"quota.fetch_failed", 1, func() Payload { return new(QuotaFetchFailed) }},
	KindAttemptRouted:          {"attempt.routed", 1, func() Payload { return new(AttemptRouted) }},
	KindAttemptSucceeded:       {"attempt.succeeded", 1, func() Payload { return new(AttemptSucceeded) }},
	KindAttemptRateLimited:     {"attempt.rate_limited", 1, func() Payload { return new(AttemptRateLimited) }},
	KindAttemptPaymentRequired: {"attempt.payment_required", 1, func() Payload { return new(AttemptPaymentRequired) }},
	KindAttemptFailed:          {"attempt.failed", 1, func() Payload { return new(AttemptFailed) }},
	KindAttemptAborted:         {"attempt.aborted", 1, func() Payload { return new(AttemptAborted) }},
	KindRequestRefused:         {"request.refused", 1, func() Payload { return new(RequestRefused) }},
	KindCandidatesListed:       {"candidates.listed", 1, func() Payload { return new(CandidatesListed) }},
	KindTrialClaimed:           {"trial.claimed", 1, func() Payload { return new(TrialClaimed) }},
	KindTrialPassed:            {"trial.passed", 1, func() Payload { return new(TrialPassed) }},
	KindTrialClosed:            {"trial.closed", 1, func() Payload { return new(TrialClosed) }},
	KindPinSet:                 {"pin.set", 1, func() Payload { return new(PinSet) }},
	KindPinMoved:               {"pin.moved", 1, func() Payload { return new(PinMoved) }},
	KindPinReleased:            {"pin.released", 1, func() Payload { return new(PinReleased) }},
	KindOperatorReleased:       {"operator.released", 1, func() Payload { return new(OperatorReleased) }},
	KindOperatorParked:         {"operator.parked", 1, func() Payload { return new(OperatorParked) }},
	KindOperatorDrained:        {"operator.drained", 1, func() Payload { return new(OperatorDrained) }},
	KindOperatorUndrained:      {"operator.undrained", 1, func() Payload { return new(OperatorUndrained) }},
}

func (k Kind) known() bool { return k > KindNone && int(k) < len(kinds) }

// String is the permanent name, or "type:N" for one that this binary does not know.
func (k Kind) String() string {
	if k.known() {
		return kinds[k].name
	}
	return "type:" + uitoa(uint64(k))
}

// ParseKind reads a kind's name.
func ParseKind(s string) (Kind, bool) {
	for k := KindGatewayStarted; int(k) < len(kinds); k++ {
		if kinds[k].name == s {
			return k, true
		}
	}
	return 0, false
}

// Kinds lists all known kinds in order of their numbers.
func Kinds() []Kind {
	out := make([]Kind, 0, len(kinds)-1)
	for k := KindGatewayStarted; int(k) < len(kinds); k++ {
		out = append(out, k)
	}
	return out
}
