package events

import "time"

// GatewayStarted opens a writer: the envelope's Writer is the new process.
type GatewayStarted struct {
	Version      string   // of the binary
	ConfigDigest Digest   // of the effective configuration, secrets excluded
	Folded       Position // last position folded before it served
}

// Kind implements Payload.
func (*GatewayStarted) Kind() Kind { return KindGatewayStarted }

func (p *GatewayStarted) fields(c *coder) {
	c.word(1, "version", &p.Version)
	c.digest(2, "config_digest", &p.ConfigDigest)
	c.position(3, "folded", &p.Folded)
}

// Family is a named set of models that share limits at one provider.
type Family struct {
	Name   string
	Models []string // globs
}

func (p *Family) fields(c *coder) {
	c.word(1, "name", &p.Name)
	c.strings(2, "models", &p.Models)
}

// Settings are an account's configuration, without its credential.
type Settings struct {
	Provider      string
	Endpoint      string    // host that it is reached at: the scope "endpoint"
	Group         string    // quota_group; "" when it shares its limits with none
	Dialects      []Dialect // that its endpoint speaks
	Known         []string  // globs of the models that its provider serves; empty: all
	Models        []string  // allow-list of globs; empty: all
	Families      []Family  // of its provider's models
	Weight        int64     // configured weight; 0 counts as 1
	Priority      int64     // lower first in "ordered"
	MaxConcurrent int64     // 0: unlimited
	QuotaSource   string    // preset, none, headers, push, http; "" is none
}

func (p *Settings) fields(c *coder) {
	c.word(1, "provider", &p.Provider)
	c.word(2, "endpoint", &p.Endpoint)
	c.word(3, "group", &p.Group)
	enums(c, 4, "dialects", &p.Dialects, dialectNames)
	c.strings(5, "known", &p.Known)
	c.strings(6, "models", &p.Models)
	repeated(c, 7, "families", &p.Families)
	c.int64(8, "weight", &p.Weight)
	c.int64(9, "priority", &p.Priority)
	c.int64(10, "max_concurrent", &p.MaxConcurrent)
	c.word(11, "quota_source", &p.QuotaSource)
}

// AccountEnrolled adds the envelope's account to the roster; its roster number
// is its rank among enrolments, from 1. Re-enrolling a retired id keeps the
// number.
type AccountEnrolled struct{ Settings }

// Kind implements Payload.
func (*AccountEnrolled) Kind() Kind { return KindAccountEnrolled }

// AccountChanged replaces an account's settings and, by the envelope, its epoch.
type AccountChanged struct {
	Settings
	Cause string // reload, credential, learned
}

// Kind implements Payload.
func (*AccountChanged) Kind() Kind { return KindAccountChanged }

func (p *AccountChanged) fields(c *coder) {
	p.Settings.fields(c)
	c.word(12, "cause", &p.Cause)
}

// AccountRetired takes an account out of the configuration.
type AccountRetired struct{ Cause string }

// Kind implements Payload.
func (*AccountRetired) Kind() Kind { return KindAccountRetired }

func (p *AccountRetired) fields(c *coder) { c.word(1, "cause", &p.Cause) }

// PolicyAdopted holds the whole routing document. Every decision names the
// digest of the one that it was made under.
type PolicyAdopted struct {
	Digest   Digest // of the document's stored bytes, see Document.Digest
	Document Document
}

// Kind implements Payload.
func (*PolicyAdopted) Kind() Kind { return KindPolicyAdopted }

func (p *PolicyAdopted) fields(c *coder) {
	c.digest(1, "digest", &p.Digest)
	inline(c, 2, "document", &p.Document)
}

// Window is one quota window as a provider reports it, its own numbers only.
type Window struct {
	Name             string
	Scope            Scope         // unset counts as account
	Length           time.Duration // 0: unknown
	Used             OptDecimal    // in the provider's unit
	Limit            OptDecimal
	UsedPercent      OptDecimal // 0 to 100
	RemainingPercent OptDecimal // 0 to 100, may be negative
	Reached          OptBool    // the provider's flag, authoritative both ways
	ResetsAt         Time
	Reported         bool // remaining was reported, not derived or defaulted
}

func (p *Window) fields(c *coder) {
	c.word(1, "name", &p.Name)
	c.scope(2, "scope", &p.Scope)
	c.duration(3, "length", &p.Length)
	c.optDecimal(4, "used", &p.Used)
	c.optDecimal(5, "limit", &p.Limit)
	c.optDecimal(6, "used_percent", &p.UsedPercent)
	c.optDecimal(7, "remaining_percent", &p.RemainingPercent)
	c.optBool(8, "reached", &p.Reached)
	c.time(9, "resets_at", &p.ResetsAt)
	c.bool(10, "reported", &p.Reported)
}

// ModelCredit is a credit budget's word on one model.
type ModelCredit struct {
	Model              string
	Available          OptBool
	CreditsWouldEnable OptBool
}

func (p *ModelCredit) fields(c *coder) {
	c.word(1, "model", &p.Model)
	c.optBool(2, "available", &p.Available)
	c.optBool(3, "credits_would_enable", &p.CreditsWouldEnable)
}

// Credit is a spend budget as a provider reports it (R10).
type Credit struct {
	Reached     OptBool
	Available   OptBool
	Used        OptDecimal
	Limit       OptDecimal
	UsedPercent OptDecimal
	ResetsAt    Time
	Models      []ModelCredit
}

func (p *Credit) fields(c *coder) {
	c.optBool(1, "reached", &p.Reached)
	c.optBool(2, "available", &p.Available)
	c.optDecimal(3, "used", &p.Used)
	c.optDecimal(4, "limit", &p.Limit)
	c.optDecimal(5, "used_percent", &p.UsedPercent)
	c.time(6, "resets_at", &p.ResetsAt)
	repeated(c, 7, "models", &p.Models)
}

// Billing is what is known of an account's plan and period.
type Billing struct {
	Plan      Plan
	PeriodEnd Time
}

func (p *Billing) fields(c *coder) {
	enum(c, 1, "plan", &p.Plan, planNames)
	c.time(2, "period_end", &p.PeriodEnd)
}

// Reading is one observation of quota: from a usage endpoint, a console, a
// push, or the headers of an answer. Its time is the event's ObservedAt, or
// AnsweredAt where it stands in an outcome.
type Reading struct {
	Source   string   // preset name, headers, push, http
	Coverage []string // names of the windows this source speaks of; empty: those listed
	Windows  []Window
	Credit   *Credit
	Billing  *Billing
}

func (p *Reading) fields(c *coder) {
	c.word(1, "source", &p.Source)
	c.strings(2, "coverage", &p.Coverage)
	repeated(c, 3, "windows", &p.Windows)
	message(c, 4, "credit", &p.Credit)
	message(c, 5, "billing", &p.Billing)
}

// QuotaFetched is a reading of the envelope's account.
type QuotaFetched struct{ Reading }

// Kind implements Payload.
func (*QuotaFetched) Kind() Kind { return KindQuotaFetched }

// QuotaFetchFailed is a fetch that gave no reading; it changes no verdict.
type QuotaFetchFailed struct {
	Source  string
	Status  uint32 // of the usage endpoint's answer, 0 when there was none
	Error   string // secrets removed, at most 300 bytes
	RetryAt Time   // earliest next fetch, when the endpoint named one
}

// Kind implements Payload.
func (*QuotaFetchFailed) Kind() Kind { return KindQuotaFetchFailed }

func (p *QuotaFetchFailed) fields(c *coder) {
	c.word(1, "source", &p.Source)
	c.uint32(2, "status", &p.Status)
	c.string(3, "error", &p.Error)
	c.time(4, "retry_at", &p.RetryAt)
}
