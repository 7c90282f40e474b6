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
	KindRequestEnded
)

// kindRow is one line of the type table. version is the schema version that
// this binary writes; versions 1 to len(older) are upcast on read.
type kindRow struct {
	name    string
	version uint16
	make    func() Payload
	older   []func() older
}

var kinds = [...]kindRow{
	KindGatewayStarted:         {"gateway.started", 1, func() Payload { return new(GatewayStarted) }, nil},
	KindAccountEnrolled:        {"account.enrolled", 1, func() Payload { return new(AccountEnrolled) }, nil},
	KindAccountChanged:         {"account.changed", 1, func() Payload { return new(AccountChanged) }, nil},
	KindAccountRetired:         {"account.retired", 1, func() Payload { return new(AccountRetired) }, nil},
	KindPolicyAdopted:          {"policy.adopted", 1, func() Payload { return new(PolicyAdopted) }, nil},
	KindQuotaFetched:           {"quota.fetched", 1, func() Payload { return new(QuotaFetched) }, nil},
	KindQuotaFetchFailed:       {"quota.fetch_failed", 1, func() Payload { return new(QuotaFetchFailed) }, nil},
	KindAttemptRouted:          {"attempt.routed", 1, func() Payload { return new(AttemptRouted) }, nil},
	KindAttemptSucceeded:       {"attempt.succeeded", 1, func() Payload { return new(AttemptSucceeded) }, nil},
	KindAttemptRateLimited:     {"attempt.rate_limited", 1, func() Payload { return new(AttemptRateLimited) }, nil},
	KindAttemptPaymentRequired: {"attempt.payment_required", 1, func() Payload { return new(AttemptPaymentRequired) }, nil},
	KindAttemptFailed:          {"attempt.failed", 1, func() Payload { return new(AttemptFailed) }, nil},
	KindAttemptAborted:         {"attempt.aborted", 1, func() Payload { return new(AttemptAborted) }, nil},
	KindRequestRefused:         {"request.refused", 1, func() Payload { return new(RequestRefused) }, nil},
	KindCandidatesListed:       {"candidates.listed", 1, func() Payload { return new(CandidatesListed) }, nil},
	KindTrialClaimed:           {"trial.claimed", 1, func() Payload { return new(TrialClaimed) }, nil},
	KindTrialPassed:            {"trial.passed", 1, func() Payload { return new(TrialPassed) }, nil},
	KindTrialClosed:            {"trial.closed", 1, func() Payload { return new(TrialClosed) }, nil},
	KindPinSet:                 {"pin.set", 1, func() Payload { return new(PinSet) }, nil},
	KindPinMoved:               {"pin.moved", 1, func() Payload { return new(PinMoved) }, nil},
	KindPinReleased:            {"pin.released", 1, func() Payload { return new(PinReleased) }, nil},
	KindOperatorReleased:       {"operator.released", 1, func() Payload { return new(OperatorReleased) }, nil},
	KindOperatorParked:         {"operator.parked", 1, func() Payload { return new(OperatorParked) }, nil},
	KindOperatorDrained:        {"operator.drained", 1, func() Payload { return new(OperatorDrained) }, nil},
	KindOperatorUndrained:      {"operator.undrained", 1, func() Payload { return new(OperatorUndrained) }, nil},
	KindRequestEnded:           {"request.ended", 1, func() Payload { return new(RequestEnded) }, nil},
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

// KindNames lists their names in that order.
func KindNames() []string {
	names := make([]string, 0, len(kinds)-1)
	for _, k := range Kinds() {
		names = append(names, k.String())
	}
	return names
}
