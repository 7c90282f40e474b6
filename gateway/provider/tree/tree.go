// Package tree reads JSON of any shape, as error bodies and usage endpoints
// are, without ever turning a number into a float. It knows paths, not
// providers.
package tree

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
)

// Node is a value inside a document. The zero Node is absent.
type Node struct {
	v     any // string, json.Number, bool, nil for null, []any, map[string]any
	there bool
}

// Parse reads a document. Anything behind its first value makes it invalid.
func Parse(b []byte) (Node, bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return Node{}, false
	}
	return Node{v: v, there: true}, true
}

// Exists says that the node is there, null included.
func (n Node) Exists() bool { return n.there }

// IsNull says that the node is there and null.
func (n Node) IsNull() bool { return n.there && n.v == nil }

// IsObject says that the node is an object.
func (n Node) IsObject() bool { _, ok := n.v.(map[string]any); return ok }

// IsArray says that the node is an array.
func (n Node) IsArray() bool { _, ok := n.v.([]any); return ok }

// IsString says that the node is a string.
func (n Node) IsString() bool { _, ok := n.v.(string); return ok }

// Text is a string's or number's text, "" for anything else.
func (n Node) Text() string {
	switch v := n.v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Decimal reads a number, or a string that is one. stated says that there was
// something to read, so that a malformed number can be told from an absent one.
func (n Node) Decimal() (d events.Decimal, ok, stated bool) {
	if !n.there || n.v == nil {
		return 0, false, false
	}
	d, ok = events.ParseDecimal(n.Text())
	return d, ok, true
}

// Int reads a whole number.
func (n Node) Int() (int64, bool) {
	d, ok, _ := n.Decimal()
	return int64(d / events.DecimalUnit), ok
}

// Flag is a boolean; everything else is unknown.
func (n Node) Flag() events.OptBool {
	if b, ok := n.v.(bool); ok {
		return events.Bool(b)
	}
	return events.Absent
}

// Items lists an array's members, or nothing.
func (n Node) Items() []Node {
	a, _ := n.v.([]any)
	out := make([]Node, len(a))
	for i, v := range a {
		out[i] = Node{v: v, there: true}
	}
	return out
}

// Keys lists an object's members in order of their names.
func (n Node) Keys() []string {
	m, _ := n.v.(map[string]any)
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Get is an object's member of exactly this name.
func (n Node) Get(key string) Node {
	m, _ := n.v.(map[string]any)
	v, ok := m[key]
	return Node{v: v, there: ok}
}

// At is the first node of a path, see All.
func (n Node) At(path string) Node {
	if all := n.All(path); len(all) > 0 {
		return all[0]
	}
	return Node{}
}

// All lists the nodes of a path in document order. A path is names joined by
// dots; behind a name, [] takes all members of an array, [2] or .2 one of them,
// [RetryInfo] those whose "@type" ends in it, [type=TOKENS_LIMIT] those with
// that member. A name with a dot stands in quotes: "a.b".c
func (n Node) All(path string) []Node {
	at := []Node{n}
	for _, step := range split(path) {
		var next []Node
		for _, node := range at {
			next = append(next, node.step(step)...)
		}
		at = next
	}
	return at
}

// split cuts a path into names and bracketed selectors.
func split(path string) []string {
	var out []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
			continue
		case '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				end = len(path) - 1
			}
			out, path = append(out, path[:end+1]), path[end+1:]
		case '"':
			name, rest, _ := strings.Cut(path[1:], `"`)
			path = rest
			if name != "" {
				out = append(out, name)
			}
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			out, path = append(out, path[:end]), path[end:]
		}
	}
	return out
}

func (n Node) step(s string) []Node {
	if !strings.HasPrefix(s, "[") {
		if g := n.Get(s); g.there {
			return []Node{g}
		}
		if n.IsArray() && s[0] >= '0' && s[0] <= '9' { // data.limits.0.used
			return n.step("[" + s + "]")
		}
		return nil
	}
	sel := strings.Trim(s, "[]")
	var out []Node
	for i, item := range flat(n.Items()) {
		if item.selected(sel, i) {
			out = append(out, item)
		}
	}
	return out
}

// flat unwraps arrays around members: some surfaces nest details once more.
func flat(items []Node) []Node {
	var out []Node
	for _, i := range items {
		if i.IsArray() {
			out = append(out, i.Items()...)
			continue
		}
		out = append(out, i)
	}
	return out
}

func (n Node) selected(sel string, index int) bool {
	if sel == "" {
		return true
	}
	if key, want, ok := strings.Cut(sel, "="); ok {
		return n.Get(key).Text() == want
	}
	if sel[0] >= '0' && sel[0] <= '9' {
		d, ok := events.ParseDecimal(sel)
		return ok && int64(d/events.DecimalUnit) == int64(index)
	}
	t := n.Get("@type").Text()
	return strings.HasSuffix(t, "."+sel) || t == sel
}
