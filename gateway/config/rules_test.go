package config

import (
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

func TestARowOfLowConfidenceMeansWhatTheFileSays(t *testing.T) {
	account := "accounts: [{id: a, provider: metered, api_key: k}]\n"
	for text, want := range map[string]events.Class{"": events.ClassWindowExhausted, "rules: {metered.guess: off}\n": events.ClassRateLimited,
		"rules: {metered.guess: overloaded}\n": events.ClassOverloaded} {
		c, err := load(t, account+text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f := c.ProviderOf(&c.Accounts[0]).Classify(provider.Answer{Status: 429, Model: "m", At: 1}); f.Class != want {
			t.Errorf("%q: %s by %s, want %s", text, f.Class, f.Rule, want)
		}
	}
	for text, want := range map[string]string{
		"rules: {metered.sure: off}\n":      ":2:9: rule cannot be overridden: metered.sure is of high confidence",
		"rules: {metered.none: off}\n":      ":2:9: rule cannot be overridden: no row has the id",
		"rules: {metered.guess: perhaps}\n": `"perhaps" is no meaning of a rule`,
		"rules: [metered.guess]\n":          "rules must be a mapping",
	} {
		if _, err := load(t, account+text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
