package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// commandTable is what transcripts are written in.
func commandTable() map[string]func(*World, args) error {
	return map[string]func(*World, args) error{
		"policy":   (*World).cmdPolicy,
		"model":    (*World).cmdModel,
		"enrol":    (*World).cmdEnrol,
		"change":   (*World).cmdChange,
		"retire":   (*World).cmdRetire,
		"reading":  (*World).cmdReading,
		"failed":   (*World).cmdFetchFailed,
		"upstream": (*World).cmdUpstream,
		"request":  (*World).cmdRequest,
		"requests": (*World).cmdRequests,
		"begin":    (*World).cmdBegin,
		"passed":   (*World).cmdPassed,
		"answer":   (*World).cmdAnswer,
		"advance":  (*World).cmdAdvance,
		"repeat":   (*World).cmdRepeat,
		"restart":  (*World).cmdRestart,
		"gateway":  (*World).cmdGateway,
		"ledger":   (*World).cmdLedger,
		"operator": (*World).cmdOperator,
		"accounts": (*World).cmdAccounts,
		"why":      (*World).cmdWhy,
		"pins":     (*World).cmdPins,
		"hits":     (*World).cmdHits,
		"verify":   (*World).cmdVerify,
	}
}

func (w *World) cmdPolicy(a args) error {
	for _, f := range strings.Fields(a.rest) {
		name, value, _ := strings.Cut(f, "=")
		if err := setPolicy(&w.Document.Policy, name, value); err != nil {
			return err
		}
	}
	w.Adopt()
	return nil
}

func setPolicy(p *events.Policy, name, value string) (err error) {
	durations := map[string]*time.Duration{
		"park_cap": &p.ParkCap, "healthy_window": &p.HealthyWindow, "rate_limit_park": &p.RateLimitPark, "payment_recovery": &p.PaymentRecovery,
		"burst_cooldown": &p.BurstCooldown, "trial_backoff": &p.TrialBackoff, "trial_lease": &p.TrialLease, "clock_skew": &p.ClockSkew,
		"reading_max_age": &p.ReadingMaxAge, "trial_wait": &p.TrialWait, "pin_ttl": &p.PinTTL, "pin_wait": &p.PinWait,
		"max_elapsed": &p.MaxElapsed, "first_token_timeout": &p.FirstTokenTimeout,
	}
	if d := durations[name]; d != nil {
		*d, err = duration(value)
		return err
	}
	ok := true
	switch name {
	case "reserve":
		p.Reserve, ok = events.ParseDecimal(value)
	case "health_threshold":
		_, err = fmt.Sscan(value, &p.HealthThreshold)
	case "max_attempts":
		_, err = fmt.Sscan(value, &p.MaxAttempts)
	case "when_exhausted":
		p.WhenExhausted, ok = events.ParseWhenExhausted(value)
	case "honour_should_retry":
		p.HonourShouldRetry, ok = events.ParseHonour(value)
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("no policy %s=%s", name, value)
	}
	return err
}

// cmdModel: model NAME [strategy] tier tier..., a tier being
// account,account[>rewrite] or provider:NAME[>rewrite].
func (w *World) cmdModel(a args) error {
	m := events.Route{Name: a.first()}
	for _, word := range a.pos[1:] {
		if s, ok := events.ParseStrategy(word); ok && word != "" {
			m.Strategy = s
			continue
		}
		who, rewrite, _ := strings.Cut(word, ">")
		t := events.Tier{Model: rewrite}
		if provider, ok := strings.CutPrefix(who, "provider:"); ok {
			t.Provider = provider
		} else {
			t.Accounts = strings.Split(who, ",")
		}
		m.Tiers = append(m.Tiers, t)
	}
	w.Document.Models = slices.DeleteFunc(slices.Clone(w.Document.Models), func(o events.Route) bool { return o.Name == m.Name })
	w.Document.Models = append(w.Document.Models, m)
	w.Adopt()
	return nil
}

func (w *World) cmdEnrol(a args) error {
	for _, id := range a.pos {
		s, epoch, err := settings(events.Settings{Provider: "test", Endpoint: "test", Dialects: []events.Dialect{events.DialectOpenAI, events.DialectAnthropic, events.DialectGemini}}, a)
		if err != nil {
			return err
		}
		w.enrolled(id, epoch, &events.AccountEnrolled{Settings: s})
	}
	return nil
}

func (w *World) cmdChange(a args) error {
	for _, id := range a.pos {
		old, err := w.account(id)
		if err != nil {
			return err
		}
		s, epoch, err := settings(old.Settings, a)
		if err != nil {
			return err
		}
		if epoch == 0 {
			epoch = old.Epoch
		}
		w.enrolled(id, epoch, &events.AccountChanged{Settings: s, Cause: "reload"})
	}
	return nil
}

func (w *World) enrolled(id string, epoch events.Epoch, p events.Payload) {
	if epoch == 0 {
		epoch = 1
	}
	w.Gateway().follow()
	w.Gateway().submit(events.Draft{Header: events.Header{Account: id, Epoch: epoch}, Data: p})
}

func settings(s events.Settings, a args) (_ events.Settings, epoch events.Epoch, err error) {
	for name, value := range a.named {
		switch name {
		case "provider":
			s.Provider = value
		case "endpoint":
			s.Endpoint = value
		case "group":
			s.Group = value
		case "source":
			s.QuotaSource = value
		case "known":
			s.Known = strings.Split(value, ",")
		case "models":
			s.Models = strings.Split(value, ",")
		case "family":
			for _, f := range strings.Split(value, "+") {
				family, globs, _ := strings.Cut(f, ":")
				s.Families = append(slices.Clone(s.Families), events.Family{Name: family, Models: strings.Split(globs, ",")})
			}
		case "weight":
			_, err = fmt.Sscan(value, &s.Weight)
		case "priority":
			_, err = fmt.Sscan(value, &s.Priority)
		case "max":
			_, err = fmt.Sscan(value, &s.MaxConcurrent)
		case "epoch":
			_, err = fmt.Sscan(value, &epoch)
		default:
			err = fmt.Errorf("no setting %q", name)
		}
		if err != nil {
			return s, 0, err
		}
	}
	return s, epoch, nil
}

func (w *World) cmdRetire(a args) error {
	for _, id := range a.pos {
		if _, err := w.account(id); err != nil {
			return err
		}
		w.Gateway().Record(id, "", &events.AccountRetired{Cause: "reload"})
	}
	return nil
}

// cmdReading: reading ID[,ID] [at=-1m] WINDOW fields; WINDOW fields.
func (w *World) cmdReading(a args) error {
	text := a.after(1)
	observed := w.Now
	if at, ok := strings.CutPrefix(text, "at="); ok {
		word, rest, _ := strings.Cut(at, " ")
		t, err := w.instant(word)
		if err != nil {
			return err
		}
		observed, text = t, rest
	}
	r, err := w.reading("push", text)
	if err != nil {
		return err
	}
	for _, id := range strings.Split(a.first(), ",") {
		acct, err := w.account(id)
		if err != nil {
			return err
		}
		g := w.Gateway()
		g.submit(events.Draft{Header: events.Header{Account: id, Epoch: acct.Epoch, ObservedAt: observed}, Data: &events.QuotaFetched{Reading: r}})
	}
	w.wake()
	return nil
}

func (w *World) cmdFetchFailed(a args) error {
	w.Gateway().Record(a.first(), "", &events.QuotaFetchFailed{Source: "preset", Status: 429, Error: "too many requests"})
	return nil
}

// cmdUpstream: upstream ID[,ID] [model=M] [says=WORD] OUTCOME then OUTCOME.
func (w *World) cmdUpstream(a args) error {
	text := a.after(1)
	var k upstreamKey
	for {
		word, rest, _ := strings.Cut(text, " ")
		if m, ok := strings.CutPrefix(word, "model="); ok {
			k.model = m
		} else if s, ok := strings.CutPrefix(word, "says="); ok {
			k.says = s
		} else {
			break
		}
		text = rest
	}
	answers := strings.Split(text, " then ")
	for _, o := range answers {
		if _, err := w.outcome(o); err != nil {
			return err
		}
	}
	for _, id := range strings.Split(a.first(), ",") {
		k.account = id
		w.upstreams[k] = &upstream{answers: answers}
	}
	return nil
}
