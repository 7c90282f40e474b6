// Package config reads what an operator says: one YAML file and the
// environment. It turns text into checked values and names every fault with
// its line, its column and the mend. It must not know how the values are used,
// any provider by name, or where the ledger is.
//
// Each setting of the file is one row in fields.go, with its key, its reader,
// its bounds and its documentation; the reference in docs/config.md is written
// from these rows and the struct tags of Environment.
package config

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/alert"
)

// File is the whole configuration file.
type File struct {
	Accounts        []Account
	Models          []Model
	Clients         []Client
	Policy          events.Policy
	Rules           []Rule
	Feeds           []Feed // read at start
	AccountsFromEnv bool
	ExposeAccount   bool
	Ledger          Ledger // read at start
	SpoolMax        uint64 // bytes; read at start
	Prices          string // file of a price table, "" when there is none
}

// Ledger is what concerns the ledger besides its place.
type Ledger struct {
	RequireRoles       bool
	CheckpointInterval time.Duration
	CheckpointDir      string        // "": checkpoints, beside an embedded ledger or the spool
	CheckpointKey      string        // "": key in CheckpointDir
	Retain             time.Duration // 0: for ever
	ArchiveDir         string        // "": nothing is archived by itself
	Segment            uint64        // positions that are archived together
}

// Position is where something stands in the file, both from 1; zero when it
// stands in none.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Account is one upstream account.
type Account struct {
	At                Position
	ID                string
	Provider          string
	APIKey            Secret
	APIKeyFile        string
	CredentialCommand []string
	BaseURL           string
	Models            []string // globs; nil: all
	Priority          int64
	Weight            int64
	MaxConcurrent     int64
	QuotaGroup        string
	Headers           map[string]Secret
	Quota             Quota
	FromEnv           string // variable that made it, "" when it stands in the file
}

// Quota is where an account's readings come from.
type Quota struct {
	At       Position
	Source   string // preset, none, headers, push, http; "" is the provider's default
	Interval time.Duration
	URL      string
	Headers  map[string]Secret
	Windows  []QuotaWindow
	Credit   *QuotaCredit
}

// QuotaWindow maps one window of a generic usage endpoint. Paths are dotted
// JSON paths ("data.limits.0.used").
type QuotaWindow struct {
	At        Position
	Name      string
	Scope     string
	Length    time.Duration
	Used      string
	Limit     string
	Remaining string
	Ratio     bool // used, limit and remaining are shares of one
	Percent   bool // used and remaining are percentages
	Reached   string
	ResetsAt  string
	Each      string // list to walk; the other paths then count from its items
}

// QuotaCredit maps a credit budget of a generic usage endpoint.
type QuotaCredit struct {
	At        Position
	Used      string
	Limit     string
	Available string
	Reached   string
	ResetsAt  string
}

// Model is one name that clients may ask for.
type Model struct {
	At       Position
	Name     string
	Strategy events.Strategy
	Targets  []Target
}

// Target is one tier of a model.
type Target struct {
	At       Position
	Accounts []string
	Provider string
	Model    string
}

// Client is who may call.
type Client struct {
	At            Position
	ID            string
	Key           Secret
	KeySHA256     string
	Models        []string
	RPM           uint64
	MaxConcurrent uint64
}

// Feed is where committed events are delivered to: a webhook, a stream of NATS
// or a topic of Kafka.
type Feed struct {
	At     Position
	Name   string
	URL    Secret // of a webhook; often holds a token
	Secret Secret
	NATS   *FeedNATS
	Kafka  *FeedKafka
	Events []FeedEvent  // nil: none where there are Alerts, else all
	Alerts []alert.Kind // nil: all for a webhook without Events, else none
}

// FeedNATS is a subject of JetStream.
type FeedNATS struct {
	At      Position
	URL     Secret // may hold a password
	Stream  string // made when it is not there; "": one must be there
	Subject string
}

// FeedKafka is a topic of Kafka.
type FeedKafka struct {
	At      Position
	Brokers []string
	Topic   string
}

// FeedEvent is a kind of event and, where Word is not empty, the class of an
// attempt or the code of a refusal that it must have.
type FeedEvent struct {
	Kind events.Kind
	Word string
}

// defaults is what an empty file means.
func defaults() File {
	return File{Policy: events.DefaultPolicy(), Ledger: Ledger{CheckpointInterval: 10 * time.Minute, Segment: 1_000_000}, SpoolMax: 1 << 30}
}
