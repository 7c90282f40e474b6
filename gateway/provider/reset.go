package provider

import (
	"net/http"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider/when"
)

// Reset is one place where an answer may state when to come back.
type Reset struct {
	// Source is recorded as the hint's source: header:NAME, body:PATH,
	// message:PATTERN, calendar:RULE, policy:RULE. The last is a guess (R7).
	Source  string
	Unit    when.Unit
	Words   string         // message: what the time follows, lower case; "" as in Source
	Zone    *time.Location // message: of times that name no zone
	AtLeast time.Duration  // a shorter wait is not believed
	Wait    time.Duration  // policy: from the answer on
	Take    func(*Look) (value, source string)
}

// Header reads a header: relative or absolute by magnitude.
func Header(name string) Reset { return Reset{Source: "header:" + name} }

// RetryAfter reads the two headers that SDKs read, the finer one first.
func RetryAfter() []Reset {
	return []Reset{
		{Source: "header:retry-after-ms", Unit: when.Millis},
		{Source: "header:retry-after", Unit: when.Seconds},
	}
}

// Body reads a member of the body.
func Body(path string) Reset { return Reset{Source: "body:" + path} }

// Message reads the time that follows words in the message. The pattern names
// it in hints and defaults to the words.
func Message(words, pattern string) Reset {
	if pattern == "" {
		pattern = words
	}
	return Reset{Source: "message:" + pattern, Words: words}
}

// Calendar is a turn of the calendar, see the table in calendar.go.
func Calendar(rule string) Reset { return Reset{Source: "calendar:" + rule} }

// Policy is a guess: wait from the answer on.
func Policy(rule string, wait time.Duration) Reset {
	return Reset{Source: "policy:" + rule, Wait: wait}
}

// Taken computes the value and its source.
func Taken(take func(*Look) (value, source string)) Reset { return Reset{Take: take} }

// TryAgain are the wordings in which several providers state a wait.
func TryAgain() []Reset {
	return []Reset{
		Message("try again in", ""),
		Message("retry in", ""),
		Message("try again after", "after N seconds"),
		Message("retry after", "after N seconds"),
		Message("reset after", ""),
		Message("resets in", ""),
		Message("reset in", ""),
		Message("reset at", ""),
		Message("resets at", ""),
		Message("resets on", ""),
		Message("reset on", ""),
		Message("available at", ""),
	}
}

// anyReset is where a limit may state its reset when the provider's table has
// no row for it, best first (catalogue section 0.2, point 7).
func anyReset() []Reset {
	out := []Reset{
		Body("error.resets_at"), Body("resets_at"), Body("error.reset_at"), Body("reset_at"),
		Header("anthropic-ratelimit-unified-reset"),
		{Source: "body:error.resets_in_seconds", Unit: when.Seconds},
		{Source: "body:resets_in_seconds", Unit: when.Seconds},
		Body("error.details[RetryInfo].retryDelay"),
		Body("error.details[ErrorInfo].metadata.quotaResetDelay"),
	}
	out = append(out, RetryAfter()...)
	out = append(out, SpentBucket())
	return append(out, TryAgain()...)
}

// SpentBucket is the reset of the rate-limit bucket that is empty: such a reset
// tells when the bucket is full again, so it counts only while nothing remains
// or when nothing is said of what remains.
func SpentBucket() Reset {
	return Taken(func(l *Look) (string, string) {
		for _, name := range bucketResets(l) {
			if left := l.Header.Get(strings.Replace(name, "reset", "remaining", 1)); left == "" || spent(left) {
				if r, v := l.clock.Header(l.Header, name, when.Auto); r.Kind >= when.Future {
					return v, "header:" + name
				}
			}
		}
		return "", ""
	})
}

// bucketResets lists the reset headers that an answer has, in a fixed order.
func bucketResets(l *Look) []string {
	known := []string{
		"x-ratelimit-reset", "ratelimit-reset",
		"x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset-project-tokens",
		"anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-reset",
		"anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-output-tokens-reset",
	}
	var out []string
	for _, name := range known {
		if l.Header.Get(name) != "" {
			out = append(out, name)
		}
	}
	return out
}

func spent(left string) bool {
	d, ok := events.ParseDecimal(left)
	return ok && d <= 0
}

// hint reads the first usable source. Zero and instants in the past are the
// minimum of a burst's rule (R19) if nothing better is stated; they say nothing
// about a window or a balance.
func (l *Look) hint(resets []Reset, c events.Class) *events.Hint {
	var least *events.Hint
	for i := range resets {
		h, kind := l.read(&resets[i])
		switch {
		case kind == when.Absent:
			continue
		case kind == when.Minimum:
			if least == nil && c != events.ClassWindowExhausted && c != events.ClassCreditsExhausted {
				least = h
			}
		case h.Until.Sub(l.At) >= resets[i].AtLeast:
			return h
		}
	}
	return least
}

func (l *Look) read(r *Reset) (*events.Hint, when.Kind) {
	kind, at, value, source := r.from(l)
	if kind == when.Absent {
		return nil, kind
	}
	h := &events.Hint{Value: value, Until: at, Source: source}
	h.Guessed = strings.HasPrefix(source, "policy:")
	if len(h.Value) > 64 {
		h.Value = h.Value[:64]
	}
	return h, kind
}

// from reads one source: the instant, what was stated, and where.
func (r *Reset) from(l *Look) (when.Kind, events.Time, string, string) {
	if r.Take != nil {
		value, source := r.Take(l)
		got := l.clock.Parse(value, r.Unit)
		return got.Kind, got.At, value, source
	}
	kind, name, _ := strings.Cut(r.Source, ":")
	switch kind {
	case "header":
		got, value := l.clock.Header(l.Header, name, r.Unit)
		return got.Kind, got.At, value, r.Source
	case "body":
		return r.fromBody(l, name)
	case "message":
		return r.fromMessage(l, name)
	case "calendar":
		if at := Turn(name, l.At); at != 0 {
			return when.Future, at, name, r.Source
		}
	case "policy":
		if r.Wait > 0 {
			return when.Future, l.At.Add(r.Wait), name, r.Source
		}
	}
	return when.Absent, 0, "", ""
}

// fromBody takes the latest of the members that a path names.
func (r *Reset) fromBody(l *Look, path string) (when.Kind, events.Time, string, string) {
	var best when.Reset
	value := ""
	for _, n := range l.Env.Root.All(path) {
		if got := l.clock.Parse(n.Text(), r.Unit); got.Kind > best.Kind || got.Kind == best.Kind && got.At > best.At {
			best, value = got, n.Text()
		}
	}
	return best.Kind, best.At, value, r.Source
}

// fromMessage reads the time behind every place where the words stand.
func (r *Reset) fromMessage(l *Look, pattern string) (when.Kind, events.Time, string, string) {
	words := r.Words
	if words == "" {
		words = pattern
	}
	clock := l.clock
	clock.Zone = r.Zone
	for rest := l.Env.Message; ; {
		i := strings.Index(rest, words)
		if i < 0 {
			return when.Absent, 0, "", ""
		}
		rest = rest[i+len(words):]
		if got, value := clock.Prose(rest); got.Kind != when.Absent {
			return got.Kind, got.At, value, r.Source
		}
	}
}

// RetryAt is when an endpoint that was asked wants to be asked again, 0 when it
// names no time (B061).
func RetryAt(h http.Header, at events.Time) events.Time {
	clock := when.Clock{At: at, Date: when.DateOf(h)}
	for _, r := range RetryAfter() {
		_, name, _ := strings.Cut(r.Source, ":")
		if got, _ := clock.Header(h, name, r.Unit); got.Kind >= when.Future {
			return got.At
		}
	}
	return 0
}
