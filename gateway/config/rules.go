package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/waybill/waybill/gateway/provider"
)

// Rule changes what a row of a provider's table means.
type Rule struct {
	At      Position
	ID      string
	Meaning provider.Meaning
	Text    string // the meaning as written
}

// ruleMap is a mapping of the ids of rows to "off" or a class.
func ruleMap(key, doc string, p *[]Rule) field {
	return field{key: key, kind: "mapping of text", doc: doc, show: func() string { return "" }, read: func(r *reader, n ast.Node) {
		pairs, ok := r.entries(n)
		if !ok {
			r.fault(at(n), "write it as `id: off` or `id: class` lines", "%s must be a mapping", key)
			return
		}
		for _, pair := range pairs {
			rule := Rule{At: at(pair.Key), ID: unveil(pair.Key.GetToken().Value)}
			rule.Text, ok = r.scalar(pair.Value, key+"."+rule.ID)
			if !ok {
				continue
			}
			if rule.Meaning, ok = provider.ParseMeaning(rule.Text); !ok {
				r.fault(at(pair.Value), "write off, or a class such as rate_limited or window_exhausted", "%q is no meaning of a rule", rule.Text)
				continue
			}
			*p = append(*p, rule)
		}
	}}
}

// override puts the changed tables in place of the catalogue's.
func (c *Config) override(r *reader, all []*provider.Provider) {
	for _, rule := range c.Rules {
		changed, err := provider.Override(all, map[string]provider.Meaning{rule.ID: rule.Meaning})
		if err != nil {
			r.fault(rule.At, "see docs/providers.md", "%s", fmt.Sprint(err))
			continue
		}
		all = changed
	}
	for _, p := range all {
		c.catalog[p.ID] = p
	}
}
