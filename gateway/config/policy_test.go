package config

import (
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func TestAPolicyOnItsOwnChangesWhatItNames(t *testing.T) {
	for name, text := range map[string]string{
		"the block":       "policy:\n  park_cap: 5m\n  when_exhausted: refuse\n",
		"its bare fields": "park_cap: 5m\nwhen_exhausted: refuse\n",
	} {
		change, err := PolicyChange("p.yaml", []byte(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := events.DefaultPolicy()
		p.HealthyWindow = time.Hour
		change(&p)
		if p.ParkCap != 5*time.Minute || p.WhenExhausted != events.WhenExhaustedRefuse || p.HealthyWindow != time.Hour {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestAPolicyThatCannotBeReadSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"park_cup: 5m\n":             "park_cap",
		"park_cap: soon\n":           "p.yaml:1:",
		"policy:\n  park_cap: -5m\n": "p.yaml:2:",
		"":                           "no policy field",
		"policy: {}\n":               "no policy field",
		"[1, 2]\n":                   "mapping",
		"policy: {}\naccounts: []\n": "whole configuration",
		"policy: {}\nacounts: []\n":  "unknown key",
	} {
		if _, err := PolicyChange("p.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
