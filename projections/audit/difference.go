package audit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// differencesKept bounds what is told of one decision.
const differencesKept = 20

// Difference is one field of a decision that is derived otherwise.
type Difference struct {
	Field    string `json:"field"`    // "chosen", "skipped[2].evidence"
	Recorded string `json:"recorded"` // "" when the record has none
	Derived  string `json:"derived"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s is recorded as %s, but derived as %s", d.Field, orNothing(d.Recorded), orNothing(d.Derived))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Sentence is what the differences amount to.
func Sentence(ds []Difference) string {
	parts := make([]string, 0, 3)
	for i, d := range ds {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(ds)-i))
			break
		}
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "; ")
}

func differences(c *Case) []Difference {
	derived := derivedPayload(c)
	if derived == nil {
		return []Difference{otherAction(c)}
	}
	var out []Difference
	walk(&out, c.View.Admission.Roster(), "", tree(c.Recorded.bare), tree(derived))
	walk(&out, c.View.Admission.Roster(), "candidates", listTree(c.Recorded.listed), listTree(derivedList(c)))
	return out
}

func otherAction(c *Case) Difference {
	d := Difference{Field: "action", Recorded: "a refusal", Derived: "a refusal"}
	if r := c.Recorded.Routed; r != nil {
		d.Recorded = "a dispatch to " + admission.NameOf(c.View.Admission.Roster(), r.Chosen)
	} else {
		d.Recorded += " " + c.Recorded.Refused.Code
	}
	if c.Derived.Action == routing.Refuse {
		d.Derived += " " + c.Derived.Refusal.Code
	} else {
		d.Derived = "a dispatch to " + admission.NameOf(c.View.Admission.Roster(), c.Derived.Account)
	}
	return d
}

func listTree(l []events.Verdict) any {
	return tree(&events.CandidatesListed{Verdicts: l}).(map[string]any)["verdicts"]
}

// tree is a payload's canonical JSON, as values to walk.
func tree(p events.Payload) any {
	var out struct {
		Data any `json:"data"`
	}
	dec := json.NewDecoder(strings.NewReader(string(events.AppendJSON(nil, &events.Event{Data: p}))))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil
	}
	return out.Data
}

// walk lists the leaves that differ, in the order of their names.
func walk(out *[]Difference, roster []*admission.Account, path string, a, b any) {
	if len(*out) >= differencesKept || reflect.DeepEqual(a, b) {
		return
	}
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		for _, k := range keys(am, bm) {
			walk(out, roster, strings.TrimPrefix(path+"."+k, "."), am[k], bm[k])
		}
		return
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	if aok && bok {
		for i := range max(len(al), len(bl)) {
			walk(out, roster, path+"["+strconv.Itoa(i)+"]", at(al, i), at(bl, i))
		}
		return
	}
	*out = append(*out, Difference{Field: path, Recorded: leaf(roster, path, a), Derived: leaf(roster, path, b)})
}

func at(l []any, i int) any {
	if i < len(l) {
		return l[i]
	}
	return nil
}

func keys(a, b map[string]any) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// leaf is a value in words; roster numbers become account ids.
func leaf(roster []*admission.Account, path string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case json.Number:
		if n, err := strconv.ParseUint(v.String(), 10, 32); err == nil && namesAccount(path) {
			return admission.NameOf(roster, uint32(n))
		}
		return v.String()
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func namesAccount(path string) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	return name == "chosen" || name == "account" || name == "tie" || name == "tried"
}
