package catalogue

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/provider"
)

// checkSuccess: a success carries a reading or none, and none that is
// exhausted.
func (s *signal) checkSuccess(t *testing.T, a provider.Answer) {
	t.Helper()
	r := s.provider(t).Reading(&a)
	switch s.ID {
	case "azure-200-sentinel": // -1 and 0 stand for unknown
		if r != nil {
			t.Errorf("sentinels were read as %+v", r)
		}
		return
	case "mistral-200-headers":
		if r == nil || len(r.Windows) != 2 || r.Windows[0].RemainingPercent.V.String() != "6.666666" {
			t.Errorf("reading %+v, want two windows with 4 of 60 left in the first", r)
		}
	}
	if r == nil {
		t.Fatal("no reading in the headers")
	}
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.Scope.Kind.String() != scopeOf(s.Expect.Scope) || exhausted(w) {
			t.Errorf("window %+v, want one with room of scope %s", w, s.Expect.Scope)
		}
	}
	if s.hinted() && r.Windows[0].ResetsAt != events.At(*s.Expect.ResetExample) {
		t.Errorf("reset %s, want %s", r.Windows[0].ResetsAt, s.Expect.ResetExample)
	}
}

// exhausted is R1 in its simplest words, to say in tests what a window means.
func exhausted(w *events.Window) bool {
	if w.Reached != events.Absent {
		return w.Reached == events.Yes
	}
	switch {
	case !w.Reported:
		return false
	case w.RemainingPercent.Set:
		return w.RemainingPercent.V <= 0
	case w.UsedPercent.Set:
		return w.UsedPercent.V >= 100*events.DecimalUnit
	}
	return w.Used.V >= w.Limit.V
}

// checkProbe compares the decoded reading with the state that the row implies.
func (s *signal) checkProbe(t *testing.T) {
	t.Helper()
	q := s.provider(t).Quota
	if q == nil {
		t.Fatal("the provider has no usage endpoint")
	}
	r, err := q.Read(s.bytesOf(), events.At(s.Received))
	if err != nil {
		t.Fatal(err)
	}
	if got := implied(r); got != s.Expect.Class {
		t.Errorf("implies %s, want %s: %+v %+v", got, s.Expect.Class, r.Windows, r.Credit)
	}
	if !s.hinted() {
		return
	}
	want := events.At(*s.Expect.ResetExample)
	got := resetOf(r)
	if d := got.Sub(want); d < 0 || d >= time.Second {
		t.Errorf("reset %s, want %s", got, want)
	}
}

// implied is the state that a reading alone tells of: credits before windows.
func implied(r *events.Reading) string {
	if r.Credit != nil && r.Credit.Reached == events.Yes {
		return "credits_exhausted"
	}
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Scope.Kind != events.ScopeNone && exhausted(w) {
			return "window_exhausted"
		}
	}
	return "success"
}

// resetOf is the reset of what is exhausted, else of the first window.
func resetOf(r *events.Reading) events.Time {
	if r.Credit != nil && r.Credit.Reached == events.Yes {
		return r.Credit.ResetsAt
	}
	for i := range r.Windows {
		if exhausted(&r.Windows[i]) {
			return r.Windows[i].ResetsAt
		}
	}
	if len(r.Windows) > 0 {
		return r.Windows[0].ResetsAt
	}
	return r.Billing.PeriodEnd
}

// operation is the call that a streamed row answers.
func (s *signal) operation(t *testing.T) *dialect.Operation {
	t.Helper()
	d, name := events.DialectOpenAI, "chat"
	switch s.Provider {
	case "openai-responses":
		name = "responses"
	case "anthropic", "anthropic-oauth":
		d, name = events.DialectAnthropic, "messages"
	case "gemini":
		d, name = events.DialectGemini, "streamGenerateContent"
	}
	for _, o := range dialect.Operations() {
		if o.Dialect == d && o.Name == name {
			return o
		}
	}
	t.Fatalf("no operation %s", name)
	return nil
}

// checkStream watches the bytes pass as the relay does, and classifies the
// error frame that the dialect found.
func (s *signal) checkStream(t *testing.T) {
	t.Helper()
	a := provider.Answer{Status: s.Status, Header: s.header(), Model: s.model(), At: events.At(s.Received), Stream: true}
	if s.Provider == "bedrock" { // the frame is shown decoded
		a.Body = s.bytesOf()
		s.check(t, s.provider(t).Classify(a))
		return
	}
	in := s.operation(t).Inspect(dialect.SSE, s.Headers["content-type"])
	for _, b := range s.bytesOf() { // one byte at a time: any chunk boundary
		in.Feed([]byte{b})
	}
	in.End(nil)
	seen := in.Seen()
	if seen.Meaningful && !s.Sent {
		t.Error("meaningful before any content: it could not fail over")
	}
	switch {
	case seen.Failed != nil:
		a.Body = seen.Failed
		s.check(t, s.provider(t).Classify(a))
	case s.Expect.Class == "success":
		if seen.Terminal == "" || seen.Refused {
			t.Errorf("seen %+v, want a terminal success", seen)
		}
	case s.Expect.Class == "policy_refused":
		if !seen.Refused {
			t.Errorf("seen %+v, want a refusal", seen)
		}
	default: // cut off: the contract's class for it is malformed, which R12 counts as a server error is
		if seen.Malformed != dialect.MalformedTruncated {
			t.Errorf("seen %+v, want a truncated stream", seen)
		}
	}
}

func TestUsageInStreams(t *testing.T) {
	want := map[string]string{
		"stream-anthropic-usage":     `{"input_tokens":2125,"cached_input_tokens":2000,"cache_write_tokens":100,"output_tokens":15,"reasoning_tokens":null}`,
		"stream-gemini-usage":        `{"input_tokens":1200,"cached_input_tokens":1000,"cache_write_tokens":null,"output_tokens":54,"reasoning_tokens":50}`,
		"stream-responses-completed": `{"input_tokens":2000,"cached_input_tokens":1920,"cache_write_tokens":0,"output_tokens":30,"reasoning_tokens":10}`,
	}
	for _, s := range signals(t) {
		if want[s.ID] == "" {
			continue
		}
		t.Run(s.ID, func(t *testing.T) {
			in := s.operation(t).Inspect(dialect.SSE, s.Headers["content-type"])
			in.Feed(s.bytesOf())
			in.End(nil)
			if got := usageText(in.Seen().Usage); got != want[s.ID] {
				t.Errorf("got  %s\nwant %s", got, want[s.ID])
			}
		})
	}
}

func usageText(u *events.Usage) string {
	if u == nil {
		return "none"
	}
	opt := func(o events.OptInt) string {
		if !o.Set {
			return "null"
		}
		b, err := json.Marshal(o.V)
		return string(b) + errText(err)
	}
	return `{"input_tokens":` + opt(u.Input) + `,"cached_input_tokens":` + opt(u.CachedInput) + `,"cache_write_tokens":` +
		opt(u.CacheWrite) + `,"output_tokens":` + opt(u.Output) + `,"reasoning_tokens":` + opt(u.Reasoning) + `}`
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestEveryPhaseIsRun: a row of a phase that no check knows would pass unseen.
func TestEveryPhaseIsRun(t *testing.T) {
	n := 0
	for _, s := range signals(t) {
		n++
		if s.Phase != "response" && s.Phase != "stream" && s.Phase != "usage_probe" {
			t.Errorf("%s: phase %s is not run", s.ID, s.Phase)
		}
	}
	if n != 141 {
		t.Errorf("%d rows, want 141", n)
	}
	for id, w := range overruled() {
		if w.why == "" || !strings.Contains(w.why, "R") {
			t.Errorf("%s: no rule named that overrules the row", id)
		}
	}
}

func TestAVoidAnswerOfAUsageEndpointChangesNothing(t *testing.T) {
	for _, p := range All() {
		if p.Quota == nil {
			continue
		}
		t.Run(p.ID, func(t *testing.T) {
			for _, body := range []string{``, `<html>`, `[]`, `"x"`, `{"error":{"message":"no"}}`} {
				r, err := p.Quota.Read([]byte(body), events.At(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)))
				if err == nil && (len(r.Windows) > 0 || r.Credit != nil && r.Credit.Reached == events.Yes) {
					t.Errorf("%q was read as %+v", body, r)
				}
				if err != nil && !errors.Is(err, provider.ErrVoid) {
					t.Errorf("%q: %v is not ErrVoid", body, err)
				}
			}
		})
	}
}
