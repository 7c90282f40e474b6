package dialect

import (
	"errors"
	"strings"
	"testing"
)

func Test_B152_one_canonical_path_whatever_the_base_holds(t *testing.T) {
	for _, c := range []struct{ op, model, path string }{
		{"openai.chat", "m1", "/v1/chat/completions"}, {"openai.chat", "models/m1", "/v1/chat/completions"},
		{"openai.responses", "m1", "/v1/responses"}, {"openai.embeddings", "m1", "/v1/embeddings"},
		{"anthropic.messages", "m1", "/v1/messages"}, {"anthropic.count_tokens", "m1", "/v1/messages/count_tokens"},
		{"gemini.generateContent", "m1", "/v1beta/models/m1:generateContent"}, {"gemini.generateContent", "models/m1", "/v1beta/models/m1:generateContent"},
		{"gemini.streamGenerateContent", "m1", "/v1beta/models/m1:streamGenerateContent"},
	} {
		version, _, _ := strings.Cut(c.path[1:], "/")
		for _, prefix := range []string{"", "/proxy", "/a/b"} {
			for _, base := range []string{"", "/", "/" + version, "/" + version + "/"} {
				b, err := ParseBase("https://up.example:8443" + prefix + base)
				if err != nil {
					t.Fatal(err)
				}
				u, err := op(t, c.op).URL(b, c.model, Head{Query: "key=SECRET&alt=sse&%6bey=SECRET2&x=a%20b"})
				if want := "https://up.example:8443" + prefix + c.path + "?alt=sse&x=a%20b"; err != nil || u.String() != want {
					t.Errorf("%s on %q: got %v %v, want %s", c.op, prefix+base, u, err, want)
				}
			}
		}
	}
}

func Test_B152_bases_of_known_providers(t *testing.T) {
	for base, c := range map[string][2]string{
		"https://api.openai.com/v1":                                                       {"openai.chat", "https://api.openai.com/v1/chat/completions"},
		"https://api.deepseek.com":                                                        {"openai.chat", "https://api.deepseek.com/v1/chat/completions"},
		"https://generativelanguage.googleapis.com/v1beta/openai/":                        {"openai.chat", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
		"https://open.bigmodel.cn/api/paas/v4":                                            {"openai.chat", "https://open.bigmodel.cn/api/paas/v4/chat/completions"},
		"https://r.openai.azure.com/openai?api-version=2024":                              {"openai.chat", "https://r.openai.azure.com/openai/chat/completions?api-version=2024&x=1"},
		"https://gw.example/v1/acct/openai":                                               {"openai.chat", "https://gw.example/v1/acct/openai/chat/completions"},
		"https://api.anthropic.com":                                                       {"anthropic.messages", "https://api.anthropic.com/v1/messages"},
		"https://api.anthropic.com/v1/":                                                   {"anthropic.messages", "https://api.anthropic.com/v1/messages"},
		"https://api.z.ai/api/anthropic":                                                  {"anthropic.messages", "https://api.z.ai/api/anthropic/v1/messages"},
		"https://generativelanguage.googleapis.com":                                       {"gemini.countTokens", "https://generativelanguage.googleapis.com/v1beta/models/m1:countTokens"},
		"https://generativelanguage.googleapis.com/v1":                                    {"gemini.countTokens", "https://generativelanguage.googleapis.com/v1/models/m1:countTokens"},
		"https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google": {"gemini.countTokens", "https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/m1:countTokens"},
	} {
		b, err := ParseBase(base)
		if err != nil {
			t.Fatal(err)
		}
		head := Head{}
		if strings.Contains(base, "?") {
			head.Query = "x=1"
		}
		if u, err := op(t, c[0]).URL(b, "m1", head); err != nil || u.String() != c[1] {
			t.Errorf("%s: got %v %v, want %s", base, u, err, c[1])
		}
	}
	for _, base := range []string{"", "api.openai.com/v1", "ftp://x", "https://", "https://user:pw@host", "https://host/#f", "https://host/%zz"} {
		if _, err := ParseBase(base); err == nil {
			t.Errorf("%q was accepted as a base URL", base)
		}
	}
}

func Test_B145_a_model_is_one_escaped_segment_or_refused(t *testing.T) {
	b, err := ParseBase("https://up.example/prefix")
	if err != nil {
		t.Fatal(err)
	}
	o := op(t, "gemini.generateContent")
	for _, model := range []string{"../v1/files", "..", "a/../b", "a/./b", "a//b", "/a", "a/", "m1?x=", "m1#", "m1%2F..", "..%2f..%2fadmin", "m1%00", "m1\x00", "m1\n", "m1;x", `m1\..\x`, "", " ", strings.Repeat("m", 600), "m\xff"} {
		var e *Error
		if _, err := o.Reader(Head{Model: model}); !errors.As(err, &e) || e.Status != 400 || e.Param != "model" {
			t.Errorf("%q in the client's path: %v", model, err)
		}
		if u, err := o.URL(b, model, Head{}); err == nil && model != "" {
			t.Errorf("%q became %s", model, u)
		}
	}
	for model, want := range map[string]string{
		"m1": "m1", "stealth/ox": "stealth%2Fox", "a b": "a%20b", "m:free": "m:free", "модель": "%D0%BC%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C", "m1:generateContent": "m1:generateContent", "m..1": "m..1",
	} {
		u, err := o.URL(b, model, Head{})
		if err != nil || u.String() != "https://up.example/prefix/v1beta/models/"+want+":generateContent" {
			t.Errorf("%q: %v %v", model, u, err)
		}
	}
	if u, err := o.URL(b, "tunedModels/my", Head{}); err != nil || !strings.HasSuffix(u.String(), "/v1beta/tunedModels/my:generateContent") {
		t.Errorf("a tuned model: %v %v", u, err)
	}
	stored := op(t, "openai.responses.get")
	for _, id := range []string{"..", "a/../b", "a?b", "a%2e", ""} {
		if _, err := stored.Reader(Head{ID: id}); err == nil {
			t.Errorf("id %q was accepted", id)
		}
	}
	if u, err := stored.URL(b, "", Head{ID: "resp_1", Query: "include[]=x"}); err != nil || u.String() != "https://up.example/prefix/v1/responses/resp_1?include[]=x" {
		t.Errorf("%v %v", u, err)
	}
	if u, err := op(t, "openai.responses.cancel").URL(b, "", Head{ID: "resp_1"}); err != nil || u.String() != "https://up.example/prefix/v1/responses/resp_1/cancel" {
		t.Errorf("%v %v", u, err)
	}
}
