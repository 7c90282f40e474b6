package config

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/waybill/waybill/events"
)

// PolicyChange reads a policy on its own: the `policy:` block, or its bare
// fields. The change sets what the text names and leaves the rest of the policy
// that it is given. The error is Faults.
func PolicyChange(name string, text []byte, vars map[string]string) (func(*events.Policy), error) {
	env := func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
	first := events.DefaultPolicy()
	named, err := readPolicy(name, text, env, &first)
	switch {
	case err != nil:
		return nil, err
	case !named:
		return nil, Faults{{File: name, Problem: "it names no policy field", Mend: "write fields such as `park_cap: 5m`"}}
	}
	return func(p *events.Policy) {
		_, _ = readPolicy(name, text, env, p) // it was read before without a fault
	}, nil
}

func readPolicy(name string, text []byte, env func(string) (string, bool), p *events.Policy) (named bool, err error) {
	r := newReader(name, env)
	body := r.document(text)
	pairs, _ := r.entries(body)
	if p, whole := wholeFile(pairs); whole {
		r.fault(p, "write the fields of its policy: block in a file of their own", "this is a whole configuration; a replay changes the policy alone")
		return false, r.faults
	}
	what := "the policy"
	if len(pairs) == 1 && unveil(pairs[0].Key.GetToken().Value) == "policy" {
		body, what = pairs[0].Value, "policy"
		pairs, _ = r.entries(body)
	}
	r.block(body, what, policyFields(p))
	if len(r.faults) > 0 {
		return false, r.faults.sorted()
	}
	return len(pairs) > 0, nil
}

// wholeFile says that a text has blocks of the configuration besides a policy,
// and where the first one stands.
func wholeFile(pairs []*ast.MappingValueNode) (Position, bool) {
	keys := keysOf(fileFields(&File{}))
	for _, p := range pairs {
		if key := unveil(p.Key.GetToken().Value); key != "policy" && slices.Contains(keys, key) {
			return at(p.Key), true
		}
	}
	return Position{}, false
}

// Key is a policy field as the file writes it.
type Key struct {
	Name  string
	Kind  string // duration, number, percent, size, or the words it takes joined by "or"
	Doc   string
	Value string
}

// PolicyKeys are all policy fields with the values that a policy gives them.
func PolicyKeys(p events.Policy) []Key {
	var out []Key
	for _, f := range policyFields(&p) {
		out = append(out, Key{f.key, f.kind, f.doc, f.show()})
	}
	return out
}
