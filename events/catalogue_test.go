package events

//go:generate go test -run Catalogue -update .

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/events.md and missing golden files")

// TestCatalogueIsCurrent fails when docs/events.md is not what the code says.
func TestCatalogueIsCurrent(t *testing.T) {
	path := filepath.Join("..", "docs", "events.md")
	want := readSource(t).page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("docs/events.md is stale: run `go generate ./events` (%v)", err)
	}
}

// source is what the catalogue needs of the package's own text.
type source struct {
	docs    map[string]string            // type: its doc comment
	members map[string]map[string]member // type: Go field: what is said of it
	lists   map[string][]listed          // type: what its fields method lists
	embeds  map[string]string            // type: the one type that it embeds
	words   map[string][]string          // vocabulary variable: its words
}

type member struct{ kind, comment string }

// listed is one line of a fields method.
type listed struct {
	tag, name, coder, field, names string
	whole                          string // the embedded struct whose fields stand here
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{map[string]string{}, map[string]map[string]member{}, map[string][]listed{}, map[string]string{}, map[string][]string{}}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				s.types(d)
			case *ast.FuncDecl:
				s.method(d)
			}
		}
	}
	return s
}

func (s *source) types(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := d.Doc
			if spec.Doc != nil {
				doc = spec.Doc
			}
			s.docs[spec.Name.Name] = strings.Join(strings.Fields(doc.Text()), " ")
			if st, ok := spec.Type.(*ast.StructType); ok {
				s.structure(spec.Name.Name, st)
			}
		case *ast.ValueSpec:
			s.vocabulary(spec)
		}
	}
}

func (s *source) structure(name string, st *ast.StructType) {
	s.members[name] = map[string]member{}
	for _, f := range st.Fields.List {
		comment := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		kind := strings.TrimLeft(typeText(f.Type), "*[]")
		if len(f.Names) == 0 {
			s.embeds[name] = kind
		}
		for _, n := range f.Names {
			s.members[name][n.Name] = member{kind, comment}
		}
	}
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func (s *source) vocabulary(spec *ast.ValueSpec) {
	if !strings.HasSuffix(spec.Names[0].Name, "Names") || len(spec.Values) == 0 {
		return
	}
	lit, ok := spec.Values[0].(*ast.CompositeLit)
	if !ok {
		return
	}
	for _, e := range lit.Elts {
		s.words[spec.Names[0].Name] = append(s.words[spec.Names[0].Name], strings.Trim(e.(*ast.BasicLit).Value, `"`))
	}
}

func (s *source) method(d *ast.FuncDecl) {
	if d.Recv == nil || d.Name.Name != "fields" || len(d.Recv.List[0].Names) == 0 {
		return
	}
	owner := strings.TrimLeft(typeText(d.Recv.List[0].Type), "*")
	for _, st := range d.Body.List {
		call, ok := st.(*ast.ExprStmt)
		if !ok {
			continue
		}
		s.lists[owner] = append(s.lists[owner], line(call.X.(*ast.CallExpr)))
	}
}

// line reads c.word(1, "name", &p.Field) or enum(c, 1, "name", &p.Field, names).
func line(call *ast.CallExpr) listed {
	args := call.Args
	var l listed
	switch fn := call.Fun.(type) {
	case *ast.SelectorExpr:
		if fn.Sel.Name == "fields" { // p.Settings.fields(c)
			return listed{whole: fn.X.(*ast.SelectorExpr).Sel.Name}
		}
		l.coder = fn.Sel.Name
	case *ast.Ident:
		l.coder, args = fn.Name, args[1:]
	}
	l.tag = args[0].(*ast.BasicLit).Value
	l.name = strings.Trim(args[1].(*ast.BasicLit).Value, `"`)
	l.field = args[2].(*ast.UnaryExpr).X.(*ast.SelectorExpr).Sel.Name
	if len(args) > 3 {
		l.names = args[3].(*ast.Ident).Name
	}
	return l
}

// fields are all lines of a type, embedded ones in place.
func (s *source) fields(name string) (owner string, all []listed) {
	for s.lists[name] == nil && s.embeds[name] != "" {
		name = s.embeds[name]
	}
	return name, s.lists[name]
}

// plain names the stored forms for people.
var plain = map[string]string{
	"string": "text", "word": "text", "strings": "list of text", "raw": "bytes", "digest": "digest", "scope": "scope",
	"uint64": "number", "uint32": "number", "int64": "signed number", "ref": "reference", "position": "position",
	"duration": "microseconds", "optInt": "signed number, may be absent", "bool": "flag", "optBool": "flag, may be absent",
	"time": "time", "decimal": "decimal", "optDecimal": "decimal, may be absent", "uints": "list of numbers",
}

func (s *source) kindOf(owner string, l listed) string {
	of := s.members[owner][l.field].kind
	switch l.coder {
	case "enum":
		return "one of [" + of + "](#" + strings.ToLower(of) + ")"
	case "enums":
		return "list of [" + of + "](#" + strings.ToLower(of) + ")"
	case "message":
		return "[" + of + "](#" + strings.ToLower(of) + "), may be absent"
	case "inline":
		return "[" + of + "](#" + strings.ToLower(of) + ")"
	case "repeated":
		return "list of [" + of + "](#" + strings.ToLower(of) + ")"
	}
	return plain[l.coder]
}

func (s *source) table(b *strings.Builder, name string) {
	owner, all := s.fields(name)
	if len(all) == 0 {
		b.WriteString("No fields.\n\n")
		return
	}
	b.WriteString("| tag | field | form | |\n|---|---|---|---|\n")
	s.rows(b, owner, all)
	b.WriteString("\n")
}

func (s *source) rows(b *strings.Builder, owner string, all []listed) {
	for _, l := range all {
		if l.whole != "" {
			o, inner := s.fields(l.whole)
			s.rows(b, o, inner)
			continue
		}
		name := l.name
		if l.coder == "duration" {
			name += "_us"
		}
		comment := strings.ReplaceAll(s.members[owner][l.field].comment, "|", "\\|")
		fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", l.tag, name, s.kindOf(owner, l), comment)
	}
}

func (s *source) page() string {
	var b strings.Builder
	b.WriteString(`# Events

Generated from the code by ` + "`go generate ./events`" + `; do not edit.

An event is a fact with an envelope and a payload. Payloads are stored in a compact tagged form (the protobuf wire
format, varints and length-delimited fields): a field at its zero value is not written, a tag that a binary does not
know is skipped, and an event of a type or version that it does not know is kept byte for byte. JSON has the names
below; times are RFC 3339 in UTC, durations whole microseconds, digests hexadecimal, decimals exact to six places. A
byte of a text that is not UTF-8 is written as the lone surrogate ` + "`\\udcXX`" + `, so that export and import give the
same bytes.

## Envelope

| member | |
|---|---|
`)
	for _, m := range []struct{ name, field, owner string }{
		{"position", "Position", "Event"}, {"id", "ID", "Header"}, {"type, version", "", ""}, {"writer", "Writer", "Header"},
		{"writer_seq", "WriterSeq", "Header"}, {"observed_at", "ObservedAt", "Header"}, {"recorded_at", "RecordedAt", "Event"},
		{"account", "Account", "Header"}, {"epoch", "Epoch", "Header"}, {"model", "Model", "Header"}, {"request", "Request", "Header"},
		{"attempt", "Attempt", "Header"}, {"data", "Data", "Event"}, {"hash", "Hash", "Event"},
	} {
		comment := s.members[m.owner][m.field].comment
		switch m.name {
		case "type, version":
			comment = "the permanent name below, and the schema version of the payload"
		case "position":
			comment = s.docs["Position"]
		case "data":
			comment = "the payload; `codec` and `raw` (base64) instead of it, or beside it, where it cannot be shown without loss"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(m.name, ", ", "`, `"), comment)
	}
	b.WriteString("\n## Types\n\n")
	nested := map[string]bool{}
	for _, k := range Kinds() {
		name := reflect.TypeOf(kinds[k].make()).Elem().Name()
		fmt.Fprintf(&b, "### %s\n\nType %d, version %d. %s\n\n", k, k, kinds[k].version, s.docs[name])
		s.table(&b, name)
		s.collect(name, nested)
	}
	b.WriteString("## Structures\n\n")
	for _, name := range sorted(nested) {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", name, s.docs[name])
		s.table(&b, name)
	}
	b.WriteString("## Vocabularies\n\nThe numbers are stored and permanent; the names are what people and scripts see.\n\n")
	for _, name := range sorted(s.words) {
		kind := strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "Names")
		if kind == "Scope" {
			kind = "ScopeKind"
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", kind, s.docs[kind])
		for n, w := range s.words[name] {
			if w != "" {
				fmt.Fprintf(&b, "- %d `%s`\n", n, w)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// collect finds the structures below a type.
func (s *source) collect(name string, into map[string]bool) {
	owner, all := s.fields(name)
	for _, l := range all {
		switch l.coder {
		case "message", "inline", "repeated":
			of := s.members[owner][l.field].kind
			if !into[of] {
				into[of] = true
				s.collect(of, into)
			}
		case "":
			s.collect(l.whole, into)
		}
	}
}

func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
