package console

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// told is what the shell's and the API's objects have in common.
type told struct {
	Sentences []string `json:"sentences"`
}

// same wants the same sentences from the shell, the API and the page.
func same(t *testing.T, w *world, b *tab, command []string, api, page, section string, want ...string) {
	t.Helper()
	var shell, served told
	out := w.gate.MustRun(append(command, "--json")...)
	if err := json.Unmarshal([]byte(out), &shell); err != nil {
		t.Fatalf("waybill %s: %v\n%s", strings.Join(command, " "), err, out)
	}
	w.ask(t, "GET", api, nil, &served)
	b.to(page)
	shown := b.texts(section + " > .sentence")
	if len(shell.Sentences) < 2 || !reflect.DeepEqual(shell, served) || !reflect.DeepEqual(shell.Sentences, shown) {
		t.Errorf("the shell says\n%s\nthe API\n%s\nthe page\n%s", strings.Join(shell.Sentences, "\n"), strings.Join(served.Sentences, "\n"), strings.Join(shown, "\n"))
	}
	text, plain := strings.Join(shown, "\n"), w.gate.MustRun(command...)
	if !strings.HasPrefix(plain, text+"\n") {
		t.Errorf("for people the shell prints\n%s", plain)
	}
	for _, s := range want {
		if !strings.Contains(text, s) {
			t.Errorf("nothing says %q:\n%s", s, text)
		}
	}
}

func sameWordsOfARefusal(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	id := w.request(t, noon)
	same(t, w, b, []string{"why", id}, "/requests/"+id, "/requests/"+id, "#story",
		"was refused by Waybill with 429 accounts_exhausted", "qwen-plan was skipped: its upstream answered 429 at 13:19:01", "its quota window is spent (rule coding-plan.week)",
		"grok-build was skipped: its upstream answered 402 at 07:02:00", "openai-team was skipped", "A replay of the decision agrees.")
	first := w.request(t, "2026-09-21T07:02:00Z")
	same(t, w, b, []string{"why", first}, "/requests/"+first, "/requests/"+first, "#story",
		"as the last path: nothing else was left, and only claims or failures stand against it", "A replay of all 2 decisions agrees.")
	if facts := strings.Join(b.texts(".facts div"), "\n"); !strings.Contains(facts, "tokens9 in, 1 out") {
		t.Errorf("the tokens of the answer are not told:\n%s", facts)
	}
}

func sameWordsOfAnAccount(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	for _, row := range []struct{ account, at, want string }{
		{"qwen-plan", morning, "its console said at 06:58:00 (3 min 30 s ago"},
		{"qwen-plan", noon, "its upstream answered 429 at 13:19:01 (10 min ago"},
		{"qwen-plan", evening, "qwen-plan may serve."},
		{"grok-build", noon, "its upstream answered 402 at 07:02:00 (6 h 27 min ago, event 90): its credits are spent"},
		{"openai-team", morning, "credit budget is spent"},
	} {
		at := "?at=" + url.QueryEscape(row.at)
		same(t, w, b, []string{"why", "--account", row.account, "--at", row.at}, "/accounts/"+row.account+at, "/accounts/"+row.account+at, "#why", row.want)
	}
}
