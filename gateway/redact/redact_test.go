package redact

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func Test_B136_B137_B139_B140_SecretsAreTakenOut(t *testing.T) {
	rows := []struct{ name, in, canary string }{
		{"B136_a_key_in_the_query_of_a_url", `Get "https://host/v1beta/models?alt=sse&key=SECRET-UP-1": EOF`, "SECRET-UP-1"},
		{"B136_a_key_in_a_location_header", "https://host/x?key=SECRET-UP-1&b=c", "SECRET-UP-1"},
		{"B137_a_client_key_quoted_in_an_error", "invalid key: sk-CLIENTSECRET-1", "CLIENTSECRET"},
		{"B137_a_bearer_token", "Authorization: Bearer ck-CLIENTSECRET-1 is unknown", "CLIENTSECRET"},
		{"B137_a_basic_credential", "Authorization: Basic Q0xJRU5UU0VDUkVU", "Q0xJRU5UU0VDUkVU"},
		{"B139_an_organisation_id", `{"message":"org org-123 has no access"}`, "org-123"},
		{"B139_an_address", `{"message":"user a@example.test is banned"}`, "a@example.test"},
		{"B139_a_key_behind_its_words", `{"error":"Incorrect API key: ABCDEFG-XYZ. You can"}`, "ABCDEFG"},
		{"B139_a_key_the_provider_masked", `Incorrect API key provided: sk-pro********abcd.`, "abcd"},
		{"B139_an_organisation_uuid", `team 7c9f8a1e-1111-2222-3333-444455556666 has used all credits`, "7c9f8a1e"},
		{"B140_a_member_of_a_config", `{"api_key":"hunter2hunter2","x":1}`, "hunter2"},
		{"B140_a_refresh_token", `refresh_token=abcdef123456&grant_type=x`, "abcdef123456"},
		{"B140_a_json_web_token", `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln`, "eyJzdWIi"},
		{"B140_a_google_key", `key AIzaSyA1234567890abcdefg is bad`, "SyA1234567890"},
		{"B140_credentials_in_a_url", `postgres://waybill:s3cr3t@db/x`, "s3cr3t"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if out := Text(r.in); strings.Contains(out, r.canary) {
				t.Errorf("%q still holds %q", out, r.canary)
			}
		})
	}
}

func TestANamedSecretGoesWhateverItsShape(t *testing.T) {
	in := "Incorrect token SECRET-UP/1 and again SECRET-UP%2F1"
	if out := Text(in, "SECRET-UP/1"); strings.Contains(out, "SECRET-UP") {
		t.Errorf("%q still holds the secret", out)
	}
}

// TestANamedSecretGoesInEveryDisguise: hosts echo a key as their JSON, URL or
// HTML writer spells it, and what a client's parser makes of it is the key.
func TestANamedSecretGoesInEveryDisguise(t *testing.T) {
	const secret = "UP/canary+A1b2=C3d4/xyz"
	rows := map[string]string{
		"slashes of PHP":       `bad key UP\/canary+A1b2=C3d4\/xyz`,
		"unicode of Gson":      `bad key UP/canary\u002bA1b2\u003dC3d4/xyz`,
		"upper case unicode":   `bad key UP\u002Fcanary\u002BA1b2=C3d4/xyz`,
		"percent, lower case":  `bad key UP%2fcanary%2bA1b2%3dC3d4%2fxyz`,
		"percent, upper case":  `bad key UP%2Fcanary%2BA1b2%3DC3d4%2Fxyz`,
		"character references": `bad key UP&#x2f;canary&#43;A1b2=C3d4/xyz`,
		"upper case":           `BAD KEY UP/CANARY+A1B2=C3D4/XYZ`,
		"JSON inside JSON":     `{\"m\":\"UP\\/canary+A1b2\\u003dC3d4/xyz\"}`,
		"base64":               `VVAvY2FuYXJ5K0ExYjI9QzNkNC94eXo`,
		"its beginning":        `bad key UP/canary+A1b2...`,
		"its end":              `bad key ****1b2=C3d4/xyz`,
	}
	for name, in := range rows {
		t.Run(name, func(t *testing.T) {
			out := Text(in, secret)
			if !strings.Contains(out, Mark) || strings.Contains(out, "canary") || strings.Contains(out, "C3d4") || strings.Contains(out, "CANARY") || strings.Contains(out, "VVAv") {
				t.Errorf("%q still holds the secret: %q", in, out)
			}
		})
	}
	for _, in := range []string{`say "UP" \u00e9 100% & more`, `UP/can`, `xyz`} {
		if out := Text(in, secret); out != in {
			t.Errorf("%q became %q", in, out)
		}
	}
}

func TestOrdinaryWordsStay(t *testing.T) {
	for _, in := range []string{
		"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29800. Please try again in 6.512s.",
		"The model `model-x` does not exist or you do not have access to it.",
		`{"error":{"type":"insufficient_quota","code":"project_spend_limit_exceeded"}}`,
		"org-wide and org_level_disabled are words", "token_quota_exceeded", "keyboard", "max_tokens: 4096",
	} {
		if out := Text(in); out != in {
			t.Errorf("%q became %q", in, out)
		}
	}
}

func Test_B136_a_transport_error_shows_no_query(t *testing.T) {
	err := fmt.Errorf("dispatch: %w", &url.Error{Op: "Get", URL: "https://host/p?key=SECRET-UP&x=odd-SECRET-UP", Err: errors.New("EOF")})
	out := Error(err)
	if strings.Contains(out, "SECRET-UP") || !strings.Contains(out, "https://host/p") {
		t.Errorf("got %q", out)
	}
}

func Test_B140_headers_for_a_log_keep_names_only(t *testing.T) {
	h := http.Header{}
	for _, name := range []string{"Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Goog-Api-Key", "X_Auth_Token",
		"My-Client-Secret", "Openai-Organization", "Proxy-Authorization"} {
		h.Set(name, "CANARY")
	}
	h.Set("User-Agent", "curl")
	out := Header(h)
	for name, v := range out {
		if strings.Contains(strings.Join(v, ""), "CANARY") {
			t.Errorf("%s shows its value", name)
		}
	}
	if out.Get("User-Agent") != "curl" {
		t.Error("an ordinary header lost its value")
	}
}

func TestHeadRedactsBeforeItCuts(t *testing.T) {
	body := []byte(strings.Repeat("x ", 10) + "sk-SECRET-SECRET-SECRET-SECRET")
	if out := Head(body, 26); strings.Contains(out, "SEC") || len(out) > 26 {
		t.Errorf("got %q", out)
	}
	if out := Head([]byte("aé"), 2); out != "a" {
		t.Errorf("cut inside a rune: %q", out)
	}
}

// FuzzText: no input makes it panic, and a named secret never survives.
func FuzzText(f *testing.F) {
	f.Add("Bearer sk-abc?key=abc", "SECRET-UP")
	f.Add("{\"api_key\":\"", "12345")
	f.Fuzz(func(t *testing.T, text, secret string) {
		if len(text)+len(secret) > 4<<10 { // patterns are slow, not wrong, on more
			return
		}
		out := Text(text+secret, secret)
		if len(secret) >= shortest && !strings.Contains(Mark, secret) && strings.Contains(out, secret) && !strings.Contains(secret, "redacted") {
			t.Errorf("%q survives in %q", secret, out)
		}
	})
}

func BenchmarkText(b *testing.B) {
	small := `{"error":{"message":"Rate limit reached for gpt-4o in organization org-abc123 on tokens per min (TPM): Limit 30000, Used 29800, Requested 900. Please try again in 6.512s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
	for name, s := range map[string]string{"error": small, "64KiB": strings.Repeat(small, 280)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Text(s, "sk-live-credential")
			}
		})
	}
}
