package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
)

// ask makes a request from a command's words.
func (w *World) ask(a args, name string) (*Request, error) {
	r := &Request{Name: name, Client: "app", Model: "m1"}
	session := ""
	for k, v := range a.named {
		switch k {
		case "session":
			session = v
		case "client":
			r.Client = v
		case "model":
			r.Model = v
		case "says":
			r.Says = v
		case "dialect":
			d, ok := events.ParseDialect(v)
			if !ok {
				return nil, fmt.Errorf("no dialect %q", v)
			}
			r.Dialect = d
		case "tie":
			acct, err := w.account(v)
			if err != nil {
				return nil, err
			}
			r.Tie = acct.No
		case "on":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > len(w.Gateways) {
				return nil, fmt.Errorf("no gateway %q", v)
			}
			r.Gateway = w.Gateways[n-1]
		case "n":
		default:
			return nil, fmt.Errorf("no word %q", k)
		}
	}
	if session != "" {
		r.Session = events.SessionDigest(r.Client, session)
	}
	return r, nil
}

// cmdRequest runs one request to its end; a wait passes time.
func (w *World) cmdRequest(a args) error {
	name := "r"
	if len(a.pos) > 0 {
		name = a.pos[0]
	}
	r, err := w.ask(a, name)
	if err != nil {
		return err
	}
	return w.finish(r)
}

func (w *World) finish(r *Request) error {
	w.Ask(r)
	for !r.Done {
		if r.open == nil {
			w.Now = max(w.Now, r.waitTill)
			r.again()
			continue
		}
		if err := w.reply(r); err != nil {
			return err
		}
	}
	w.tell(r)
	return nil
}

// reply answers the open attempt as its script says.
func (w *World) reply(r *Request) error {
	o, err := w.answer(r)
	if err != nil {
		return err
	}
	w.Now = w.Now.Add(o.Took)
	r.Finish(o)
	return nil
}

func (w *World) tell(r *Request) {
	if r.By != "" {
		w.tracef("%s gets %d from %s", r.Name, r.Status, r.By)
	}
}

// cmdRequests begins n requests at one instant and then answers them in order,
// printing what became of them and how often each account was hit.
func (w *World) cmdRequests(a args) error {
	n, err := strconv.Atoi(a.named["n"])
	if err != nil {
		return err
	}
	before, said := maps.Clone(w.Hits), w.took()
	all := make([]*Request, n)
	for i := range all {
		if all[i], err = w.ask(a, fmt.Sprintf("r%d", i+1)); err != nil {
			return err
		}
		w.requests[all[i].Name] = all[i]
		w.Ask(all[i])
	}
	if err := w.drain(all); err != nil {
		return err
	}
	w.took() // the summary says it
	for _, r := range all {
		delete(w.requests, r.Name)
	}
	w.tracef("%s%s", said, w.summary(all, before))
	return nil
}

// drain answers what is open in order, and lets time pass when all wait.
func (w *World) drain(all []*Request) error {
	for {
		moved, till := false, events.Time(0)
		for _, r := range all {
			switch {
			case r.open != nil:
				if err := w.reply(r); err != nil {
					return err
				}
				moved = true
			case !r.Done && (till == 0 || r.waitTill < till):
				till = r.waitTill
			}
		}
		if !moved && till == 0 {
			return nil
		}
		if !moved {
			w.Advance(max(till.Sub(w.Now), 1000))
		}
	}
}

func (w *World) summary(all []*Request, before map[string]int) string {
	got := map[string]int{}
	for _, r := range all {
		what := fmt.Sprint(r.Status)
		if r.Code != "" {
			what += " " + r.Code
		}
		got[what]++
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(got)) {
		parts = append(parts, fmt.Sprintf("%d x %s", got[k], k))
	}
	return strings.Join(parts, ", ") + "; hits" + w.hitsSince(before)
}

func (w *World) hitsSince(before map[string]int) string {
	s := ""
	for _, a := range w.Gateway().view.Admission.Roster() {
		if n := w.Hits[a.ID] - before[a.ID]; n > 0 {
			s += fmt.Sprintf(" %s=%d", a.ID, n)
		}
	}
	return s
}

// cmdBegin begins a named request and leaves it open.
func (w *World) cmdBegin(a args) error {
	r, err := w.ask(a, a.first())
	if err != nil {
		return err
	}
	w.requests[r.Name] = r
	w.Ask(r)
	if r.open != nil {
		w.tracef("%s #%d %s%s ...", r.Name, r.attempt, r.open.header.Account, r.open.how())
	}
	return nil
}

func (w *World) open(name string) (*Request, error) {
	r := w.requests[name]
	if r == nil || r.open == nil {
		return nil, fmt.Errorf("request %q is not open", name)
	}
	return r, nil
}

func (w *World) cmdPassed(a args) error {
	r, err := w.open(a.first())
	if err == nil {
		r.Passed()
		w.wake()
	}
	return err
}

// cmdAnswer: answer NAME OUTCOME; the request then goes on by script.
func (w *World) cmdAnswer(a args) error {
	r, err := w.open(a.first())
	if err != nil {
		return err
	}
	o, err := w.outcome(a.after(1))
	if err != nil {
		return err
	}
	r.Finish(o)
	if r.open != nil {
		w.tracef("%s #%d %s%s ...", r.Name, r.attempt, r.open.header.Account, r.open.how())
	}
	if r.Done {
		w.tell(r)
		delete(w.requests, r.Name)
	}
	return nil
}
