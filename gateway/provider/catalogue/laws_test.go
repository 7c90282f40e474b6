package catalogue

import (
	"testing"

	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/providertest"
)

func TestLaws(t *testing.T) {
	ids := map[string]bool{}
	for _, p := range All() {
		if ids[p.ID] {
			t.Errorf("%s stands twice", p.ID)
		}
		ids[p.ID] = true
		t.Run(p.ID, func(t *testing.T) { providertest.Laws(t, p) })
	}
}

// TestOneIdIsOneRow: a row that several providers share keeps its id, and two
// rows never have one.
func TestOneIdIsOneRow(t *testing.T) {
	class := map[string]string{}
	for _, p := range All() {
		for _, r := range p.Rules {
			what := r.Class.String() + string(r.From)
			if had, ok := class[r.ID]; ok && had != what {
				t.Errorf("%s means two things", r.ID)
			}
			class[r.ID] = what
		}
	}
	if len(class) < 150 {
		t.Errorf("%d rows in the catalogue", len(class))
	}
}

func TestEveryProviderCanBeFound(t *testing.T) {
	for _, id := range []string{"openai", "chatgpt-codex", "anthropic", "anthropic-oauth", "gemini", "gemini-cli", "vertex", "antigravity", "xai",
		"grok-build", "openrouter", "deepseek", "moonshot", "kimi-code", "zai", "dashscope", "alibaba-coding-plan", "alibaba-token-plan", "minimax",
		"groq", "cerebras", "mistral", "together", "fireworks", "azure-openai", "bedrock", "github-copilot", "openai-compatible"} {
		p := Find(id)
		if p == nil {
			t.Errorf("%s is missing", id)
			continue
		}
		if len(p.Dialects) == 0 {
			t.Errorf("%s speaks nothing", id)
		}
	}
	if Find("nobody") != nil {
		t.Error("found a provider that is not there")
	}
}

// FuzzClassify: no bytes and no header make any provider panic or leave an
// answer without a class.
func FuzzClassify(f *testing.F) {
	for _, body := range []string{`{"error":{"code":"x","message":"limit: 0 try again in 5s"}}`, `[{"error":{"details":[{"@type":"a.RetryInfo","retryDelay":"1s"}]}}]`, `<html>`, ``} {
		f.Add(uint16(429), []byte(body), "Retry-After", "5", "m1")
	}
	all := All()
	f.Fuzz(func(t *testing.T, status uint16, body []byte, name, value, model string) {
		for _, p := range all {
			a := answer(int(status), string(body), name, value)
			a.Model = model
			fi := p.Classify(a)
			if fi.Rule == "" || fi.Class == 0 || fi.Scope.Kind == 0 {
				t.Errorf("%s: %+v", p.ID, fi)
			}
			if fi.Hint != nil && (fi.Hint.Until < a.At || len(fi.Hint.Value) > 64) {
				t.Errorf("%s: hint %+v", p.ID, fi.Hint)
			}
			p.Reading(&a)
		}
	})
}

// FuzzUsage: no answer of a usage endpoint makes a decoder panic.
func FuzzUsage(f *testing.F) {
	for _, s := range []string{`{"data":{"limits":[{"type":"TOKENS_LIMIT","unit":3,"number":5,"percentage":100}]}}`, `{"buckets":[{"modelId":"m"}]}`, `{"rate_limit":{"primary_window":{}}}`} {
		f.Add([]byte(s))
	}
	var presets []*provider.Preset
	for _, p := range All() {
		if p.Quota != nil {
			presets = append(presets, p.Quota)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, q := range presets {
			r, err := q.Read(body, at)
			if (r == nil) == (err == nil) {
				t.Errorf("%s: %+v and %v", q.Name, r, err)
			}
		}
	})
}
