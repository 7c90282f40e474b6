package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/alert"
)

// This file is the table of settings. Adding one is one row here; the
// reference and the freshness test of docs/config.md follow from it.

func fileFields(f *File) []field {
	return []field{
		blocks("accounts", "Upstream accounts.", &f.Accounts, accountFields, func(a *Account, p Position) { a.At, a.Weight = p, 1 }),
		blocks("models", "What clients may ask for. Absent: every account serves the models that its provider is known for and its allow-list has.",
			&f.Models, modelFields, func(m *Model, p Position) { m.At = p }),
		blocks("clients", "Who may call. Absent, and no `WAYBILL_CLIENT_KEY`: any or no key is accepted, on loopback only.",
			&f.Clients, clientFields, func(c *Client, p Position) { c.At = p }),
		nested("policy", "The knobs of admission, placement and failover.", func() []field { return policyFields(&f.Policy) }, func(Position) {}),
		ruleMap("rules", "Rows of low confidence in the providers' tables (docs/providers.md), by id: `off`, or the class that they shall mean.", &f.Rules),
		nested("ledger", "The ledger. Read at start: a change needs a restart.", func() []field { return ledgerFields(&f.Ledger) }, func(Position) {}),
		size("spool_max", "What the outage spool may take on its disk (docs/ledger.md); an eighth of it is kept for the outcomes of running requests. Read at start: a change needs a restart.", &f.SpoolMax, 1<<20, 1<<40),
		blocks("feeds", "Where committed events are delivered to, each a webhook (`url`), a stream of NATS or a topic of Kafka (docs/feeds.md). Read at start: a change needs a restart.",
			&f.Feeds, feedFields, func(w *Feed, p Position) { w.At = p }),
		text("prices", "File with what tokens cost (docs/usage.md), for `waybill usage`, the API and the console.", &f.Prices),
		boolean("accounts_from_env", "Also make accounts of the provider keys in the environment.", &f.AccountsFromEnv),
		boolean("expose_account", "Name the account on every answer (`Waybill-Account`), also beyond loopback.", &f.ExposeAccount),
	}
}

func ledgerFields(l *Ledger) []field {
	return []field{
		boolean("require_roles", "Refuse a PostgreSQL role that could change what is stored.", &l.RequireRoles),
		duration("checkpoint_interval", "Time between two signed checkpoints (docs/ledger.md).", &l.CheckpointInterval, time.Second),
		text("checkpoint_dir", "Where signed checkpoints are kept. Absent: `checkpoints` beside an embedded ledger, else beside the spool.", &l.CheckpointDir),
		duration("retain", "How long events stay in the ledger itself; older ones are archived, if `archive_dir` says where. Absent: for ever.", &l.Retain, 24*time.Hour),
		text("archive_dir", "Where events go that are older than `retain`: into files that are verified before anything is removed.", &l.ArchiveDir),
		whole("segment", "Positions that are archived together (docs/ledger.md).", &l.Segment, 100, 1_000_000_000),
		text("checkpoint_key", "File of the key that signs them, made when it is not there. Absent: `key` in `checkpoint_dir`.", &l.CheckpointKey),
	}
}

func accountFields(a *Account) []field {
	return []field{
		checked("id", "Unique name: 1 to 64 of a-z, 0-9, dot, underscore and dash.", &a.ID, checkID),
		text("provider", "A provider of the catalogue, or `openai-compatible`.", &a.Provider),
		secret("api_key", "The credential; usually `${SOME_VARIABLE}`.", &a.APIKey),
		text("api_key_file", "File that holds the credential; read again when it changes.", &a.APIKeyFile),
		texts("credential_command", "Program and arguments that print a token or `{\"token\",\"expires_at\"}`; run at start, before expiry and once on a 401.", &a.CredentialCommand, notEmpty),
		text("base_url", "Where the provider is; the provider's own if absent. Same shape as the official SDK of its dialect takes.", &a.BaseURL),
		texts("models", "Allow-list of globs. Absent: all.", &a.Models, checkGlob),
		whole("priority", "Lower first in `ordered`.", &a.Priority, -1000, 1000),
		whole("weight", "Share in `balanced`, relative to the others.", &a.Weight, 1, 1_000_000),
		whole("max_concurrent", "Requests at a time; 0: unlimited.", &a.MaxConcurrent, 0, 1_000_000),
		text("quota_group", "Accounts of one upstream organisation share its limits.", &a.QuotaGroup),
		headers("headers", "Further headers for the upstream.", &a.Headers),
		nested("quota", "Where readings of quota come from.", func() []field { return quotaFields(&a.Quota) }, func(p Position) { a.Quota.At = p }),
	}
}

func quotaFields(q *Quota) []field {
	return []field{
		choice("source", "`preset` is the provider's own endpoint (default where it has one); `http` any other.", &q.Source, []string{"preset", "none", "headers", "push", "http"}),
		duration("interval", "Time between two fetches.", &q.Interval, time.Second),
		text("url", "Of `http`.", &q.URL),
		headers("headers", "Of `http`; the account's credential is sent unless an Authorization stands here.", &q.Headers),
		blocks("windows", "Of `http`: how a window is read.", &q.Windows, quotaWindowFields, func(w *QuotaWindow, p Position) { w.At = p }),
		nested("credit", "Of `http`: how a credit budget is read.", func() []field {
			if q.Credit == nil {
				q.Credit = &QuotaCredit{}
			}
			return quotaCreditFields(q.Credit)
		}, func(p Position) { q.Credit = &QuotaCredit{At: p} }),
	}
}

func quotaWindowFields(w *QuotaWindow) []field {
	return []field{
		text("name", "Of the window.", &w.Name),
		checked("scope", "What it gates: account (default), group, endpoint, family:NAME, model:NAME, none.", &w.Scope, checkScope),
		duration("length", "Of the window, where it is known.", &w.Length, time.Second),
		text("each", "Path of a list; the other paths then count from its items.", &w.Each),
		text("used", "Path of the used amount.", &w.Used),
		text("limit", "Path of the limit.", &w.Limit),
		text("remaining", "Path of the remaining amount.", &w.Remaining),
		boolean("ratio", "Used and remaining are shares of one.", &w.Ratio),
		boolean("percent", "Used and remaining are percentages.", &w.Percent),
		text("reached", "Path of the flag that says it is spent.", &w.Reached),
		text("resets_at", "Path of the reset, in any form of time.", &w.ResetsAt),
	}
}

func quotaCreditFields(c *QuotaCredit) []field {
	return []field{
		text("used", "Path of the used amount.", &c.Used),
		text("limit", "Path of the limit.", &c.Limit),
		text("available", "Path of the flag that says credit is left.", &c.Available),
		text("reached", "Path of the flag that says it is spent.", &c.Reached),
		text("resets_at", "Path of the reset.", &c.ResetsAt),
	}
}

func feedFields(w *Feed) []field {
	return []field{
		checked("name", "Unique name: 1 to 64 of a-z, 0-9, dot, underscore and dash. Its place is kept under it.", &w.Name, checkID),
		secret("url", "Webhook: where to POST; never shown.", &w.URL),
		secret("secret", "Webhook: signs what is sent; usually `${SOME_VARIABLE}`.", &w.Secret),
		texts("events", "Kinds of events (docs/events.md), each alone or with the class of an attempt or the code of a refusal: `request.refused:accounts_exhausted`. Absent: none where `alerts` are named, else all; to a webhook the alerts.",
			new([]string), func(s string) (string, error) {
				e, mend, err := parseFeedEvent(s)
				w.Events = append(w.Events, e)
				return mend, err
			}),
		texts("alerts", "What a person should be told, in a sentence with its evidence (docs/feeds.md): account_parked, all_accounts_exhausted, payment_required, spooling, chain_broken. Absent: all to a webhook without `events`, else none.",
			new([]string), func(s string) (string, error) {
				k := alert.Kind(s)
				w.Alerts = append(w.Alerts, k)
				if all := alert.Kinds(); !slices.Contains(all, k) {
					return didYouMean(s, alertNames(all)), fmt.Errorf("%q is no alert", s)
				}
				return "", nil
			}),
		nested("nats", "JetStream: a message is taken when a stream has it.", func() []field {
			if w.NATS == nil {
				w.NATS = &FeedNATS{}
			}
			return []field{
				secret("url", "Such as nats://host:4222; several servers of a cluster are separated by commas. Never shown.", &w.NATS.URL),
				text("subject", "What is published to.", &w.NATS.Subject),
				text("stream", "Made for the subject when it is not there. Absent: a stream must be there that takes the subject.", &w.NATS.Stream),
			}
		}, func(p Position) { w.NATS = &FeedNATS{At: p} }),
		nested("kafka", "A topic of Kafka; the key is the account.", func() []field {
			if w.Kafka == nil {
				w.Kafka = &FeedKafka{}
			}
			return []field{
				texts("brokers", "Each as host:port.", &w.Kafka.Brokers, checkBroker),
				text("topic", "What is published to; it must be there.", &w.Kafka.Topic),
			}
		}, func(p Position) { w.Kafka = &FeedKafka{At: p} }),
	}
}

func alertNames(kinds []alert.Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

func checkBroker(s string) (string, error) {
	if faults := checkListen("broker", s); faults != nil {
		return "write host:port, such as kafka:9092", fmt.Errorf("%q is no address", s)
	}
	return "", nil
}

// parseFeedEvent reads KIND or KIND:WORD.
func parseFeedEvent(s string) (e FeedEvent, mend string, err error) {
	kind, word, narrowed := strings.Cut(s, ":")
	k, ok := events.ParseKind(kind)
	if !ok {
		return e, didYouMean(kind, events.KindNames()), fmt.Errorf("%q is no kind of event", kind)
	}
	if narrowed && word == "" {
		return e, "write " + kind + " alone, or a class or code after the colon", fmt.Errorf("%q ends with its colon", s)
	}
	return FeedEvent{Kind: k, Word: word}, "", nil
}

func modelFields(m *Model) []field {
	return []field{
		text("name", "As clients ask for it.", &m.Name),
		word("strategy", "How one of several admitted accounts is chosen.", &m.Strategy, []string{"balanced", "ordered", "round_robin", "least_busy"}, events.ParseStrategy),
		blocks("targets", "Tiers in order; the next only when none of the one before is admitted.", &m.Targets, targetFields, func(t *Target, p Position) { t.At = p }),
	}
}

func targetFields(t *Target) []field {
	return []field{
		texts("accounts", "Ids of accounts.", &t.Accounts, notEmpty),
		text("provider", "All accounts of a provider.", &t.Provider),
		text("model", "The name that is sent upstream; absent: the one asked for.", &t.Model),
	}
}

func clientFields(c *Client) []field {
	return []field{
		checked("id", "Unique name: 1 to 64 of a-z, 0-9, dot, underscore and dash.", &c.ID, checkID),
		secret("key", "The key itself; usually `${SOME_VARIABLE}`.", &c.Key),
		checked("key_sha256", "Or its SHA-256 in hex, as `waybill keys new` prints it.", &c.KeySHA256, checkDigest),
		texts("models", "Globs of the models that it may ask for. Absent: all.", &c.Models, checkGlob),
		whole("rpm", "Requests a minute; 0: unlimited.", &c.RPM, 0, math.MaxInt32),
		whole("max_concurrent", "Requests at a time; 0: unlimited.", &c.MaxConcurrent, 0, math.MaxInt32),
	}
}

func policyFields(p *events.Policy) []field {
	return []field{
		duration("park_cap", "Longest time that a claim keeps an account out before it is tested.", &p.ParkCap, time.Millisecond),
		duration("healthy_window", "Time after a success in which claims of exhaustion do not park.", &p.HealthyWindow, 0),
		duration("rate_limit_park", "First park of a quota 429, doubled per step up to `park_cap`.", &p.RateLimitPark, time.Millisecond),
		duration("payment_recovery", "Park of a 402 that names no reset.", &p.PaymentRecovery, time.Millisecond),
		duration("burst_cooldown", "A 429 without a hint, doubled per step.", &p.BurstCooldown, time.Millisecond),
		duration("trial_backoff", "Rest after a trial that told nothing.", &p.TrialBackoff, time.Millisecond),
		duration("trial_lease", "A trial's slot ends here at the latest; never below `first_token_timeout` + 30s.", &p.TrialLease, time.Second),
		duration("clock_skew", "How far clocks may differ.", &p.ClockSkew, 0),
		percent("reserve", "Percent of quota kept back in placement.", &p.Reserve),
		duration("reading_max_age", "A reading older than this is stale.", &p.ReadingMaxAge, time.Second),
		whole("health_threshold", "Failures in a row before an account cools down.", &p.HealthThreshold, 1, 100),
		word("when_exhausted", "When only claims keep everyone out: try the last path early, or refuse.", &p.WhenExhausted, []string{"probe", "refuse"}, events.ParseWhenExhausted),
		word("honour_should_retry", "When `X-Should-Retry: false` stops failover.", &p.HonourShouldRetry, []string{"except_402", "always", "never"}, events.ParseHonour),
		whole("max_attempts", "Accounts tried for one request.", &p.MaxAttempts, 1, 64),
		duration("max_elapsed", "Until the first byte, all attempts together.", &p.MaxElapsed, time.Millisecond),
		duration("connect_timeout", "Until a connection stands.", &p.ConnectTimeout, time.Millisecond),
		duration("header_timeout", "Until the headers of an answer.", &p.HeaderTimeout, time.Millisecond),
		duration("first_token_timeout", "Until the first meaningful frame.", &p.FirstTokenTimeout, time.Millisecond),
		duration("idle_timeout", "Silence inside a stream.", &p.IdleTimeout, time.Millisecond),
		duration("trial_wait", "A request with no other candidate waits this long for a trial in flight.", &p.TrialWait, 0),
		size("max_body", "Largest request body, after decompression.", &p.MaxBody, 1<<10, 4<<30),
		duration("pin_ttl", "A session stays with its account this long after its last request.", &p.PinTTL, 0),
		duration("pin_wait", "A pinned request waits this long for a free connection, then borrows another account.", &p.PinWait, 0),
	}
}

var (
	idPattern = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)
	hexDigest = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

func checkID(s string) (string, error) {
	if !idPattern.MatchString(s) {
		return "use 1 to 64 of a-z, 0-9, dot, underscore and dash", fmt.Errorf("%q is no id", s)
	}
	return "", nil
}

func checkScope(s string) (string, error) {
	if _, ok := events.ParseScope(s); !ok {
		return "use account, group, endpoint, family:NAME, model:NAME or none", fmt.Errorf("%q is no scope", s)
	}
	return "", nil
}

func checkDigest(s string) (string, error) {
	if !hexDigest.MatchString(s) {
		return "write the 64 hex digits that `waybill keys new` prints", errors.New("is no SHA-256")
	}
	return "", nil
}

// checkGlob accepts a model name in which * stands for anything.
func checkGlob(s string) (string, error) {
	if mend, err := notEmpty(s); err != nil {
		return mend, err
	}
	for _, c := range s {
		if c <= ' ' || c == '[' || c == ']' || c == '{' || c == '}' || c == '?' {
			return "use a model name in which * stands for anything, such as gpt-4*", fmt.Errorf("%q is no glob", s)
		}
	}
	return "", nil
}
