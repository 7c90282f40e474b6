package config

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/waybill/waybill/gateway/provider"
)

// accountsFromEnv makes an account of each provider key in the environment:
// OPENAI_API_KEY, OPENAI_API_KEY_2, ... become openai, openai-2, ...
func (r *reader) accountsFromEnv(c *Config, providers []*provider.Provider, vars map[string]string) {
	for _, p := range providers {
		if p.EnvKey == "" {
			continue
		}
		for _, n := range KeyNumbers(p.EnvKey, vars) {
			name, id := p.EnvKey, p.ID
			if n > 1 {
				name, id = fmt.Sprintf("%s_%d", p.EnvKey, n), fmt.Sprintf("%s-%d", p.ID, n)
			}
			if _, err := credentialText(vars[name]); err != nil {
				r.faults = append(r.faults, Fault{File: name, Problem: err.Error(), Mend: "remove spaces and line breaks, or unset it"})
				continue
			}
			c.Accounts = append(c.Accounts, Account{ID: id, Provider: p.ID, APIKey: NewSecret(vars[name]), Weight: 1, FromEnv: name})
		}
	}
}

// KeyNumbers are the numbers under which a key is set, ascending; 1 is the
// bare name. An empty variable counts as not set: shells export those.
func KeyNumbers(name string, vars map[string]string) []int {
	var out []int
	for v, value := range vars {
		if value == "" {
			continue
		}
		if v == name {
			out = append(out, 1)
			continue
		}
		digits, ok := strings.CutPrefix(v, name+"_")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 1 && strconv.Itoa(n) == digits {
			out = append(out, n)
		}
	}
	sort.Ints(out)
	return out
}

// clientsFromEnv adds the clients of WAYBILL_CLIENT_KEY: default, default-2, ...
func (r *reader) clientsFromEnv(c *Config, v string) {
	keys, err := splitKeys(v)
	if err != nil {
		r.faults = append(r.faults, Fault{File: "WAYBILL_CLIENT_KEY", Problem: err.Error(), Mend: "unset it, or give it keys separated by commas"})
		return
	}
	for i, k := range keys {
		id := "default"
		if i > 0 {
			id = fmt.Sprintf("default-%d", i+1)
		}
		c.Clients = append(c.Clients, Client{ID: id, Key: NewSecret(k)})
	}
}
