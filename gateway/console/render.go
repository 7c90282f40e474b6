package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/story"
	"github.com/waybill/waybill/projections/usage"
)

//go:embed templates static
var files embed.FS

// pages are the templates, one set per page.
type pages struct {
	base string // where the embedded files are served
	sets map[string]*template.Template
}

// parsePages reads the templates: each page with the layout and the parts.
func parsePages() (pages, error) {
	p := pages{sets: map[string]*template.Template{}}
	shared, err := template.New("").Funcs(functions()).ParseFS(files, "templates/shared/*.html")
	if err != nil {
		return p, fmt.Errorf("parse shared templates: %w", err)
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return p, err
	}
	for _, name := range names {
		set, err := shared.Clone()
		if err == nil {
			set, err = set.ParseFS(files, name)
		}
		if err != nil {
			return p, fmt.Errorf("parse %s: %w", name, err)
		}
		p.sets[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = set
	}
	p.base, err = staticBase()
	return p, err
}

// staticBase names the embedded files by their content, so that a browser may
// keep them for ever.
func staticBase() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, "static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n", path, len(b))
		sum.Write(b)
		return err
	})
	return "/static/" + hex.EncodeToString(sum.Sum(nil)[:6]), err
}

func (p *pages) render(w io.Writer, page, block string, f *frame) error {
	if err := p.sets[page].ExecuteTemplate(w, block, f); err != nil {
		return fmt.Errorf("render %s: %w", page, err)
	}
	return nil
}

func functions() template.FuncMap {
	return template.FuncMap{
		"words":   func(s string) string { return strings.ReplaceAll(s, "_", " ") },
		"short":   short,
		"full":    full,
		"clock":   func(t events.Time) string { return t.Std().Format("15:04:05") },
		"day":     func(t events.Time) string { return t.Std().Format("Mon 2 Jan") },
		"iso":     func(t events.Time) string { return t.String() },
		"typed":   func(t events.Time) string { return t.Std().Format("2006-01-02 15:04:05.999999") },
		"millis":  func(t events.Time) int64 { return t.Std().UnixMilli() },
		"seconds": seconds,
		"took":    story.Took,
		"number":  grouped,
		"more":    more,
		"tokens":  tokens,
		"tone":    tone,
		"bytes":   story.Bytes,
		"moment":  func(t, ref events.Time) moment { return moment{t, ref} },
		"told":    func(f *frame, text string) template.HTML { return told(f, text) },
		"scope":   func(f *frame, body any) scoped { return scoped{f, body} },
		"dict":    dict,
	}
}

// scoped hands a part its own data together with the page's frame.
type scoped struct {
	F *frame
	D any
}

// moment is an instant as seen from another.
type moment struct{ T, Ref events.Time }

// Words say how far away the instant is.
func (m moment) Words() string {
	switch d := m.T.Sub(m.Ref); {
	case d > 0:
		return "in " + story.Span(d)
	case d == 0:
		return "now"
	default:
		return story.Span(d) + " ago"
	}
}

// dict makes a part's parameters.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: %d values make no pairs", len(pairs))
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

func full(t events.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Format("Mon 2 Jan 2006 15:04:05 UTC")
}

// short is the beginning of a digest, and the end of an id: ids begin with the
// time, and those of one minute look alike there.
func short(v any) string {
	s := fmt.Sprint(v)
	if id, ok := v.(uuid.UUID); ok {
		s = id.String()
		return s[len(s)-8:]
	}
	return s[:min(len(s), 8)]
}

// Near is a time for a table: the clock alone on the day of the reference, else
// with its day. The whole of it stands beside.
func (m moment) Near() string {
	t, ref := m.T.Std(), m.Ref.Std()
	if t.Year() == ref.Year() && t.YearDay() == ref.YearDay() {
		return t.Format("15:04:05")
	}
	if t.Year() == ref.Year() {
		return t.Format("2 Jan 15:04:05")
	}
	return t.Format("2 Jan 2006 15:04:05")
}

// tokens is a number of tokens, a dash where no answer told any.
func tokens(t usage.Tokens) string {
	if t.IsZero() {
		return "–"
	}
	return grouped(t.N)
}

// grouped is a whole number, or what a pointer to one holds, with spaces between
// thousands.
func grouped(v any) string {
	if p, ok := v.(*int64); ok {
		v = *p
	}
	s := fmt.Sprint(v)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return sign + strings.Join(append([]string{s}, parts...), "\u202f")
}

// more is by how much a number is above another, with its sign.
func more(n, than int64) string {
	switch d := n - than; {
	case d > 0:
		return "+" + grouped(d)
	case d < 0:
		return "\u2212" + grouped(-d)
	}
	return "0"
}

// seconds is a whole number of them for people.
func seconds(s int64) string {
	if s == 0 {
		return "0 s"
	}
	return story.Span(time.Duration(s) * time.Second)
}

// tone is the colour of a word of the contract: a state, an outcome, a class.
func tone(word string) string {
	switch word {
	case "available", "served", "success", "chosen", "admitted", "clear", "identical":
		return "good"
	case "half_open", "probing", "open", "trial", "due", "trying", "told":
		return "info"
	case "parked", "waiting_reset", "cooling", "walled", "resting", "rate_limited", "window_exhausted", "skipped", "aborted", "client_aborted":
		return "wait"
	case "refused", "failed", "payment_required", "credits_exhausted", "auth_failed", "server_error", "overloaded", "network", "timeout", "lost", "malformed":
		return "bad"
	}
	return "off"
}

var references = regexp.MustCompile(`\bevent [0-9]{1,18}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// told is a sentence in which the events and requests that it names are links.
func told(f *frame, text string) template.HTML {
	var b strings.Builder
	last := 0
	for _, at := range references.FindAllStringIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[last:at[0]]))
		word := text[at[0]:at[1]]
		where := f.Request(word)
		if n, ok := strings.CutPrefix(word, "event "); ok {
			where = f.URL("/events/" + n)
		}
		b.WriteString(`<a href="` + template.HTMLEscapeString(where) + `">` + word + `</a>`)
		last = at[1]
	}
	b.WriteString(template.HTMLEscapeString(text[last:]))
	return template.HTML(b.String()) //nolint:gosec // every part is escaped above
}
