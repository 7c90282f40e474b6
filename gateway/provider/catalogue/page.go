package catalogue

import (
	"fmt"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Page is docs/providers.md: what is known of every provider, written from the
// tables themselves.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Providers

Written from the tables in gateway/provider; do not edit. An answer is read in this order: what the host's edge says; content
policy; machine codes; types and headers; wording; status. A status decides by itself only where no row does. What follows from a
class is docs/admission.md alone. The id of the row that decided stands in every event and in ` + "`waybill why`" + `.

Rows of low confidence may be switched off or given another class in the configuration.

| provider | base URL | dialects | key variable | usage endpoint |
|---|---|---|---|---|
`)
	for _, p := range All() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n", p.ID, p.ID, code(p.BaseURL), dialects(p), code(p.EnvKey), endpoint(p))
	}
	shared := sharedRows()
	for _, p := range All() {
		fmt.Fprintf(&b, "\n## %s\n\n", p.ID)
		about(&b, p)
		b.WriteString("| row | when | means | scope | reset | source |\n|---|---|---|---|---|---|\n")
		for i := range p.Rules {
			if r := &p.Rules[i]; shared[r.ID] == p.ID {
				row(&b, r)
			}
		}
		var others []string
		for _, r := range p.Rules {
			if shared[r.ID] != p.ID {
				others = append(others, code(r.ID))
			}
		}
		if len(others) > 0 {
			fmt.Fprintf(&b, "\nThen, as above or below: %s.\n", strings.Join(others, ", "))
		}
	}
	return b.String()
}

// sharedRows names, for each row, the provider under which it is described: the
// one whose table it is.
func sharedRows() map[string]string {
	home := map[string]string{"compatible": "openai-compatible", "google": "gemini", "codex": "chatgpt-codex", "coding-plan": "alibaba-coding-plan",
		"azure": "azure-openai", "copilot": "github-copilot"}
	out := map[string]string{}
	for _, p := range All() {
		for _, r := range p.Rules {
			table, _, _ := strings.Cut(r.ID, ".")
			out[r.ID] = table
			if h := home[table]; h != "" {
				out[r.ID] = h
			}
		}
	}
	return out
}

func about(b *strings.Builder, p *provider.Provider) {
	if p.SignalsOnly {
		b.WriteString("Its answers are known; requests cannot be sent to it.\n\n")
	}
	if len(p.Known) > 0 {
		fmt.Fprintf(b, "Models: %s.\n", codes(p.Known))
	}
	for _, f := range p.Families {
		fmt.Fprintf(b, "Family %s: %s.\n", code(f.Name), codes(f.Models))
	}
	for _, d := range []events.Dialect{events.DialectOpenAI, events.DialectAnthropic, events.DialectGemini} {
		if s, ok := p.Surfaces[d]; ok {
			fmt.Fprintf(b, "Speaks %s at %s.\n", d, code(s.BaseURL))
		}
	}
	if q := p.Quota; q != nil {
		fmt.Fprintf(b, "Usage endpoint `%s` (%s; confidence %s).\n", q.Name, q.From, q.Confidence)
	}
	b.WriteString("\n")
}

func row(b *strings.Builder, r *provider.Rule) {
	confidence := ""
	if r.Confidence != provider.High {
		confidence = " (" + r.Confidence.String() + ")"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s%s |\n", r.ID, cell(when(r)), means(r), scope(r), cell(resets(r)), cell(string(r.From)), confidence)
}

func when(r *provider.Rule) string {
	var parts []string
	add := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+" "+codes(list))
		}
	}
	if len(r.Statuses) > 0 {
		parts = append(parts, "status "+strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Statuses), " ", ", "), "[]"))
	}
	add("code", r.Codes)
	add("type", r.Types)
	add("quota", r.Quotas)
	add("says", r.Phrases)
	add("and", r.And)
	for _, h := range r.Headers {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("header `%s` %s%s", strings.ToLower(h.Name), h.Equals, h.Contains)))
	}
	if r.Where != nil {
		parts = append(parts, "a condition of its own")
	}
	return strings.Join(parts, "; ")
}

func means(r *provider.Rule) string {
	s := r.Class.String()
	if r.BySize > 0 {
		s += fmt.Sprintf(", window_exhausted from %s on", r.BySize.Round(1e9))
	}
	switch {
	case r.Permanent:
		s += ", until somebody acts"
	case r.Failover == provider.OtherEndpoint:
		s += ", no other account of the endpoint"
	case r.Failover == provider.Always:
		s += ", another account may serve"
	}
	if r.Failover == provider.Never {
		s += ", no other account"
	}
	return s
}

func scope(r *provider.Rule) string {
	if r.Scope == events.ScopeUnset {
		return "by class"
	}
	if r.ScopeOf != nil {
		return r.Scope.String() + ", or narrower as stated"
	}
	return r.Scope.String()
}

func resets(r *provider.Rule) string {
	var out []string
	for _, s := range r.Resets {
		if s.Source != "" {
			out = append(out, s.Source)
		} else {
			out = append(out, "computed")
		}
	}
	return strings.Join(out, ", ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func codes(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = code(s)
	}
	return strings.Join(out, ", ")
}

func dialects(p *provider.Provider) string {
	var out []string
	for _, d := range []events.Dialect{events.DialectOpenAI, events.DialectAnthropic, events.DialectGemini} {
		_, more := p.Surfaces[d]
		for _, own := range p.Dialects {
			more = more || own == d
		}
		if more {
			out = append(out, d.String())
		}
	}
	return strings.Join(out, ", ")
}

func endpoint(p *provider.Provider) string {
	switch {
	case p.Quota == nil:
		return ""
	case p.Quota.Path == "":
		return "a console"
	}
	return code(p.Quota.Origin + p.Quota.Path)
}
