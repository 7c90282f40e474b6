package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// field is one setting: the single place that says how it is called, read and
// explained.
type field struct {
	key  string
	kind string // for the reference
	doc  string
	read func(r *reader, n ast.Node)
	show func() string  // its value as it would be written; "" when it is empty
	sub  func() []field // rows of one element, for blocks and lists of blocks
}

// reader walks a file and collects its faults.
type reader struct {
	file    string
	env     func(string) (string, bool)
	anchors map[string]ast.Node
	places  map[string]Position // where "block.key" stands
	listed  map[string]bool     // blocks whose keys a fault has named
	faults  Faults
}

func newReader(file string, env func(string) (string, bool)) *reader {
	return &reader{file: file, env: env, anchors: map[string]ast.Node{}, places: map[string]Position{}, listed: map[string]bool{}}
}

func at(n ast.Node) Position {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return Position{}
	}
	p := n.GetToken().Position
	return Position{p.Line, p.Column}
}

func (r *reader) fault(p Position, mend, format string, args ...any) {
	r.faults = append(r.faults, Fault{File: r.file, Position: p, Problem: fmt.Sprintf(format, args...), Mend: mend})
}

// document parses the text; nil when it holds nothing or cannot be parsed.
func (r *reader) document(text []byte) ast.Node {
	if deep(text) {
		r.fault(Position{1, 1}, "a configuration needs no more than five", "lists and mappings are nested more than %d deep", maxDepth)
		return nil
	}
	file, err := parser.ParseBytes(veil(text), 0)
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case body == nil:
			body = d.Body
		default:
			r.fault(at(d.Body), "keep one document in the file", "a second YAML document begins here")
		}
	}
	return body
}

// maxDepth bounds the nesting of brackets: the parser's time grows with its
// square.
const maxDepth = 100

func deep(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return false
}

func (r *reader) syntax(err error) {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		r.fault(Position{1, 1}, "", "not YAML: %v", err)
		return
	}
	p := Position{1, 1}
	if t := ye.GetToken(); t != nil && t.Position != nil {
		p = Position{t.Position.Line, t.Position.Column}
	}
	r.fault(p, "check indentation, colons and quotes on this line", "not YAML: %s", ye.GetMessage())
}

// resolve follows anchors and aliases.
func (r *reader) resolve(n ast.Node) ast.Node {
	for {
		switch v := n.(type) {
		case *ast.AnchorNode:
			r.anchors[v.Name.GetToken().Value] = v.Value
			n = v.Value
		case *ast.AliasNode:
			target, ok := r.anchors[v.Value.GetToken().Value]
			if !ok {
				r.fault(at(n), "define the anchor above", "alias names no anchor")
				return nil
			}
			n = target
		case *ast.TagNode:
			n = v.Value
		default:
			return n
		}
	}
}

// entries are the pairs of a mapping; ok is false when it is none.
func (r *reader) entries(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch v := r.resolve(n).(type) {
	case *ast.MappingNode:
		return v.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, true
	}
	return nil, false
}

// block reads a mapping by its rows.
func (r *reader) block(n ast.Node, what string, fields []field) {
	pairs, ok := r.entries(n)
	if !ok {
		if n != nil {
			r.fault(at(n), "write it as `key: value` lines", "%s must be a mapping", what)
		}
		return
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		key := unveil(p.Key.GetToken().Value)
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		switch {
		case i < 0:
			r.fault(at(p.Key), r.known(key, what, keysOf(fields)), "unknown key %q in %s", key, what)
		case seen[key]:
			r.fault(at(p.Key), "keep one of them", "key %q stands twice in %s", key, what)
		default:
			r.places[what+"."+key] = at(p.Key)
			fields[i].read(r, p.Value)
		}
		seen[key] = true
	}
}

// known is the mend of an unknown key: the one that is meant, or all that there
// are, which are told once.
func (r *reader) known(key, what string, keys []string) string {
	if nearest(key, keys) == "" {
		if r.listed[what] {
			return "use one of the keys above"
		}
		r.listed[what] = true
	}
	return didYouMean(key, keys)
}

func keysOf(fields []field) []string {
	keys := make([]string, len(fields))
	for i := range fields {
		keys[i] = fields[i].key
	}
	return keys
}

// items are the entries of a list that must not be empty.
func (r *reader) items(n ast.Node, what string) []ast.Node {
	seq, ok := r.resolve(n).(*ast.SequenceNode)
	if !ok {
		r.fault(at(n), "write it as a list: [a, b], or one `- item` a line", "%s must be a list", what)
		return nil
	}
	if len(seq.Values) == 0 {
		r.fault(at(n), "leave the key out, or name at least one", "%s is an empty list", what)
	}
	return seq.Values
}

// scalar is a value as text with its variables filled in; ok is false when it
// is none, and that is reported.
func (r *reader) scalar(n ast.Node, what string) (text string, ok bool) {
	switch v := r.resolve(n).(type) {
	case *ast.StringNode:
		return r.expand(unveil(v.Value), at(v))
	case *ast.LiteralNode:
		return r.expand(unveil(v.Value.Value), at(v))
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return v.GetToken().Value, true
	case *ast.NullNode:
		r.fault(at(n), "give it a value, or leave the key out", "%s is empty", what)
	default:
		r.fault(at(n), "write one value", "%s must be a single value", what)
	}
	return "", false
}
