package events

import "time"

// Policy holds every knob of admission, placement and failover. Durations are
// in whole microseconds. The contract's `policy:` block has these names.
type Policy struct {
	ParkCap           time.Duration
	HealthyWindow     time.Duration
	RateLimitPark     time.Duration
	PaymentRecovery   time.Duration
	BurstCooldown     time.Duration
	TrialBackoff      time.Duration
	TrialLease        time.Duration
	ClockSkew         time.Duration
	Reserve           Decimal // percent kept back in placement
	ReadingMaxAge     time.Duration
	HealthThreshold   uint32
	WhenExhausted     WhenExhausted
	HonourShouldRetry Honour
	MaxAttempts       uint32
	MaxElapsed        time.Duration
	ConnectTimeout    time.Duration
	HeaderTimeout     time.Duration
	FirstTokenTimeout time.Duration
	IdleTimeout       time.Duration
	TrialWait         time.Duration
	MaxBody           uint64 // bytes
	PinTTL            time.Duration
	PinWait           time.Duration
}

// DefaultPolicy is what an absent `policy:` block means.
func DefaultPolicy() Policy {
	return Policy{
		ParkCap:           30 * time.Minute,
		HealthyWindow:     30 * time.Minute,
		RateLimitPark:     5 * time.Minute,
		PaymentRecovery:   24 * time.Hour,
		BurstCooldown:     5 * time.Second,
		TrialBackoff:      30 * time.Second,
		TrialLease:        150 * time.Second,
		ClockSkew:         2 * time.Second,
		ReadingMaxAge:     15 * time.Minute,
		HealthThreshold:   3,
		WhenExhausted:     WhenExhaustedProbe,
		HonourShouldRetry: HonourExcept402,
		MaxAttempts:       4,
		MaxElapsed:        10 * time.Minute,
		ConnectTimeout:    10 * time.Second,
		HeaderTimeout:     120 * time.Second,
		FirstTokenTimeout: 120 * time.Second,
		IdleTimeout:       300 * time.Second,
		TrialWait:         5 * time.Second,
		MaxBody:           64 << 20,
		PinTTL:            time.Hour,
		PinWait:           300 * time.Millisecond,
	}
}

// LeaseMargin is how far a trial's lease outlasts first_token_timeout at least
// (R4).
const LeaseMargin = 30 * time.Second

// LeastLease is the shortest that TrialLease may be.
func (p *Policy) LeastLease() time.Duration { return p.FirstTokenTimeout + LeaseMargin }

func (p *Policy) fields(c *coder) {
	c.duration(1, "park_cap", &p.ParkCap)
	c.duration(2, "healthy_window", &p.HealthyWindow)
	c.duration(3, "rate_limit_park", &p.RateLimitPark)
	c.duration(4, "payment_recovery", &p.PaymentRecovery)
	c.duration(5, "burst_cooldown", &p.BurstCooldown)
	c.duration(6, "trial_backoff", &p.TrialBackoff)
	c.duration(7, "trial_lease", &p.TrialLease)
	c.duration(8, "clock_skew", &p.ClockSkew)
	c.decimal(9, "reserve", &p.Reserve)
	c.duration(10, "reading_max_age", &p.ReadingMaxAge)
	c.uint32(11, "health_threshold", &p.HealthThreshold)
	enum(c, 12, "when_exhausted", &p.WhenExhausted, whenExhaustedNames)
	enum(c, 13, "honour_should_retry", &p.HonourShouldRetry, honourNames)
	c.uint32(14, "max_attempts", &p.MaxAttempts)
	c.duration(15, "max_elapsed", &p.MaxElapsed)
	c.duration(16, "connect_timeout", &p.ConnectTimeout)
	c.duration(17, "header_timeout", &p.HeaderTimeout)
	c.duration(18, "first_token_timeout", &p.FirstTokenTimeout)
	c.duration(19, "idle_timeout", &p.IdleTimeout)
	c.duration(20, "trial_wait", &p.TrialWait)
	c.uint64(21, "max_body", &p.MaxBody)
	c.duration(22, "pin_ttl", &p.PinTTL)
	c.duration(23, "pin_wait", &p.PinWait)
}

// Document is the whole routing document.
type Document struct {
	Policy  Policy
	Models  []Route  // what clients may ask for; empty: every account serves what it knows
	Clients []Client // limits, never keys
}

func (p *Document) fields(c *coder) {
	inline(c, 1, "policy", &p.Policy)
	repeated(c, 2, "models", &p.Models)
	repeated(c, 3, "clients", &p.Clients)
}

// Digest names the document: a digest of its stored bytes.
func (p *Document) Digest() Digest {
	c := coder{mode: modeEncode}
	p.fields(&c)
	return DigestOf("waybill policy", string(c.out))
}

// Route is one model name that clients may ask for.
type Route struct {
	Name     string
	Strategy Strategy
	Tiers    []Tier // the next only when none of the one before is admitted
}

func (p *Route) fields(c *coder) {
	c.word(1, "name", &p.Name)
	enum(c, 2, "strategy", &p.Strategy, strategyNames)
	repeated(c, 3, "tiers", &p.Tiers)
}

// Tier is one entry of `targets`.
type Tier struct {
	Accounts []string // ids; empty: all of Provider
	Provider string
	Model    string // rewrite; "" keeps the asked name
}

func (p *Tier) fields(c *coder) {
	c.strings(1, "accounts", &p.Accounts)
	c.word(2, "provider", &p.Provider)
	c.word(3, "model", &p.Model)
}

// Client is what a client may do.
type Client struct {
	ID            string
	Models        []string // globs; empty: all
	RPM           uint64   // requests a minute, 0: unlimited
	MaxConcurrent uint64   // 0: unlimited
}

func (p *Client) fields(c *coder) {
	c.word(1, "id", &p.ID)
	c.strings(2, "models", &p.Models)
	c.uint64(3, "rpm", &p.RPM)
	c.uint64(4, "max_concurrent", &p.MaxConcurrent)
}
