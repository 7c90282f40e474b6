package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// upstreamKey names a script: the most specific one that fits a request is
// followed.
type upstreamKey struct{ account, model, says string }

// upstream is a script: answers used hit by hit, the last one for ever.
type upstream struct {
	answers []string
	next    int
}

// answer is the outcome of a dispatch by the script that fits it.
func (w *World) answer(r *Request) (Outcome, error) {
	a := r.open
	for _, k := range []upstreamKey{
		{a.header.Account, a.header.Model, r.Says}, {a.header.Account, "", r.Says},
		{a.header.Account, a.header.Model, ""}, {a.header.Account, "", ""},
		{"*", "", r.Says}, {"*", "", ""},
	} {
		if u := w.upstreams[k]; u != nil {
			o, err := w.outcome(u.answers[u.next])
			if u.next < len(u.answers)-1 {
				u.next++
			}
			return o, err
		}
	}
	return w.outcome("ok")
}

// words are the outcomes that scripts are written in.
var words = map[string]Outcome{
	"ok":          {Class: events.ClassSuccess, Status: 200},
	"burst":       {Class: events.ClassRateLimited, Status: 429},
	"window":      {Class: events.ClassWindowExhausted, Status: 429},
	"402":         {Class: events.ClassCreditsExhausted, Status: 402},
	"401":         {Class: events.ClassAuthFailed, Status: 401},
	"403":         {Class: events.ClassUnclassified, Status: 403},
	"forbidden":   {Class: events.ClassForbidden, Status: 403, Scope: events.Scope{Kind: events.ScopeAccount}},
	"500":         {Class: events.ClassServerError, Status: 500},
	"520":         {Class: events.ClassServerError, Status: 520},
	"529":         {Class: events.ClassOverloaded, Status: 529},
	"network":     {Class: events.ClassNetwork, Scope: events.Scope{Kind: events.ScopeEndpoint}},
	"timeout":     {Class: events.ClassTimeout},
	"broken":      {Class: events.ClassNetwork, Status: 200, Committed: true},
	"malformed":   {Class: events.ClassMalformed, Status: 200},
	"empty":       {Class: events.ClassMalformed, Status: 200, Empty: true},
	"unsupported": {Class: events.ClassModelUnsupported, Status: 404},
	"404":         {Class: events.ClassNotFound, Status: 404},
	"invalid":     {Class: events.ClassInvalidRequest, Status: 400},
	"413":         {Class: events.ClassInvalidRequest, Status: 413},
	"refused":     {Class: events.ClassPolicyRefused, Status: 403, Scope: events.Scope{Kind: events.ScopeRequest}},
	"gone":        {Class: events.ClassClientAborted},
}

// outcome reads "word option... [with READING]".
func (w *World) outcome(text string) (Outcome, error) {
	answer, reading, with := strings.Cut(text, " with ")
	f := strings.Fields(answer)
	if len(f) == 0 {
		return Outcome{}, fmt.Errorf("an empty outcome")
	}
	o, ok := words[f[0]]
	if !ok {
		return o, fmt.Errorf("no outcome %q", f[0])
	}
	for _, opt := range f[1:] {
		if err := w.option(&o, opt); err != nil {
			return o, fmt.Errorf("outcome %q: %w", text, err)
		}
	}
	if with {
		r, err := w.reading("headers", reading)
		if err != nil {
			return o, err
		}
		o.Reading = &r
	}
	return o, nil
}

func (w *World) option(o *Outcome, opt string) (err error) {
	name, value, _ := strings.Cut(opt, "=")
	switch name {
	case "status":
		o.Status, err = strconv.Atoi(value)
	case "scope":
		var ok bool
		if o.Scope, ok = events.ParseScope(value); !ok {
			err = fmt.Errorf("no scope %q", value)
		}
	case "hint", "guessed":
		o.Hint = &events.Hint{Value: value, Source: "scripted", Guessed: name == "guessed"}
		o.Hint.Until, err = w.instant(value)
	case "retry":
		o.Retry = value
	case "permanent":
		o.Permanent = true
	case "row":
		o.Onward, err = onward(value)
	case "took":
		o.Took, err = duration(value)
	default:
		err = fmt.Errorf("no option %q", opt)
	}
	return err
}

func onward(s string) (routing.Onward, error) {
	switch s {
	case "never":
		return routing.OnwardNever, nil
	case "endpoint":
		return routing.OnwardOtherEndpoint, nil
	case "always":
		return routing.OnwardAlways, nil
	}
	return 0, fmt.Errorf("no row %q", s)
}

// instant reads +DURATION (from now), -DURATION (before now) or @DURATION (from
// the start).
func (w *World) instant(s string) (events.Time, error) {
	if s == "" {
		return 0, fmt.Errorf("no instant")
	}
	d, err := duration(strings.TrimLeft(s, "+-@"))
	switch s[0] {
	case '@':
		return Start.Add(d), err
	case '-':
		return w.Now.Add(-d), err
	}
	return w.Now.Add(d), err
}

// duration is Go's, and 4d.
func duration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}
