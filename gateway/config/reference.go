package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/waybill/waybill/projections/usage"
)

// Reference is docs/config.md: every variable and every key, written from the
// code that reads them.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Written from gateway/config by "make docs"; a test holds it fresh. -->

What stays for the life of the process stands in the environment; what may
change while it runs stands in the file, which is read again on SIGHUP and when
it changes. Every key of the file is live after a reload, those of the ledger and feeds apart: requests
in flight end on what they began with. A broken file is refused with line, column and the
mend, and changes nothing. ` + "`waybill config check`" + ` reads it as ` + "`serve`" + ` does.

Values may hold ` + "`${NAME}`" + ` and ` + "`${NAME:-default}`" + `; a variable that is not set is an
error. ` + "`$${`" + ` stands for a plain ` + "`${`" + `. Unknown keys and empty lists are errors.

## Environment

| variable | default | |
|---|---|---|
`)
	t := reflect.TypeFor[Environment]()
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", tag.Get("env"), code(tag.Get("envDefault")), tag.Get("doc"))
	}
	b.WriteString(`
Provider keys make accounts when there is no file, or with ` + "`accounts_from_env: true`" + `:
` + "`OPENAI_API_KEY`" + `, ` + "`ANTHROPIC_API_KEY`" + ` and so on, and ` + "`OPENAI_API_KEY_2`" + `, ` + "`_3`" + ` for more accounts.
docs/providers.md names the variable of each provider.

## File

`)
	f := defaults()
	referenceRows(&b, "", fileFields(&f))
	b.WriteString("\n## Price table\n\nA file of its own, that `prices` names (docs/usage.md).\n\n")
	referenceRows(&b, "", priceFields(&usage.Prices{}, new([]priceRow)))
	return b.String()
}

// referenceRows writes a table of settings, and one for each block below.
func referenceRows(b *strings.Builder, path string, fields []field) {
	if path != "" {
		fmt.Fprintf(b, "\n### %s\n\n", path)
	}
	b.WriteString("| key | value | default | |\n|---|---|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.key, f.kind, code(f.show()), f.doc)
	}
	for _, f := range fields {
		if f.sub == nil {
			continue
		}
		below := f.key
		if f.kind == "list" {
			below += "[]"
		}
		if path != "" {
			below = path + "." + below
		}
		referenceRows(b, below, f.sub())
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
