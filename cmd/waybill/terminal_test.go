package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatIsTooWideIsToldInBlocks(t *testing.T) {
	a := incident(t, false)
	a.env = append(a.env, "COLUMNS=60")
	for name, args := range map[string][]string{
		"narrow why":      {"why"},
		"narrow requests": {"requests", "--outcome", "refused"},
		"narrow usage":    {"usage"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, steady(a.sh(exitFine, args...))) })
	}
	out := a.sh(exitFine, "why")
	for _, line := range strings.Split(out, "\n") {
		if n := utf8.RuneCountInString(line); n > 60 && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "  ") {
			t.Errorf("%d wide: %s", n, line)
		}
	}
}

func TestWideTerminalsChangeNothing(t *testing.T) {
	a := incident(t, false)
	want := a.sh(exitFine, "why")
	a.env = append(a.env, "COLUMNS=500")
	if got := a.sh(exitFine, "why"); got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	p := paint{colours: true}
	if got := p.in(bad, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
	a := incident(t, false)
	for _, args := range [][]string{{"why"}, {"why", "--no-color"}, {"accounts", "--no-color"}} {
		if out := a.sh(exitFine, args...); strings.Contains(out, "\x1b") {
			t.Errorf("%v: colour where there is no terminal", args)
		}
	}
}

func TestAWordWiderThanTheLineStandsAlone(t *testing.T) {
	p := paint{width: 20}
	if got := p.wrap("a " + strings.Repeat("x", 30) + " b"); got != "a\n  "+strings.Repeat("x", 30)+"\n  b" {
		t.Errorf("%q", got)
	}
}

func TestCompletionIsWritten(t *testing.T) {
	for _, sh := range []string{"bash", "zsh", "fish"} {
		if code, out, errs := shell(t, nil, "completion", sh); code != exitFine || !strings.Contains(out, "waybill") || errs != "" {
			t.Errorf("%s: exit %d, %q", sh, code, errs)
		}
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"usage", "--by", ""}, "model"},
		{[]string{"requests", "--outcome", "re"}, "refused"},
		{[]string{"ver"}, "verify"},
	} {
		if _, out, _ := shell(t, nil, append([]string{"__complete"}, row.args...)...); !strings.Contains(out, row.want) {
			t.Errorf("%v: %s", row.args, out)
		}
	}
	a := incident(t, false)
	for _, args := range [][]string{{"why", "--account", ""}, {"requests", "--skipped", ""}, {"drain", ""}} {
		if _, out, _ := shell(t, a.env, append([]string{"__complete"}, args...)...); !strings.Contains(out, "b\n") {
			t.Errorf("%v: %s", args, out)
		}
	}
}

func TestAnUnknownAccountIsNotPassedOver(t *testing.T) {
	a := incident(t, false)
	for _, args := range [][]string{{"requests", "--skipped", "nope"}, {"requests", "--account", "nope"}, {"events", "--account", "nope"}} {
		code, out, errs := shell(t, a.env, append(args, "--json")...)
		if code != exitFine || strings.TrimSpace(out) != "[]" || !strings.Contains(errs, `no account "nope" was ever enrolled`) {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errs)
		}
	}
	if _, _, errs := shell(t, a.env, "requests", "--skipped", "b", "--outcome", "aborted"); strings.Contains(errs, "no account") {
		t.Errorf("a known one: %q", errs)
	}
}

func TestAnExportOfNothingIsSaid(t *testing.T) {
	a := incident(t, false)
	for _, row := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"export", "--from", "30", "--to", "10"}, exitUsage, "nothing is between them"},
		{[]string{"export", "--from", "9999"}, exitCheckFailed, "the ledger ends at"},
		{[]string{"export", "--to", "9999"}, exitCheckFailed, "the ledger ends at"},
	} {
		if code, out, errs := shell(t, a.env, row.args...); code != row.exit || out != "" || !strings.Contains(errs, row.says) {
			t.Errorf("%v: exit %d, %q %q", row.args, code, out, errs)
		}
	}
}

func TestARequestIsToldAsFarAsItHadCome(t *testing.T) {
	a := incident(t, false)
	early := a.sh(exitFine, "why", a.story.FailedOver.String(), "--position", "11")
	if !strings.Contains(early, "is open") || strings.Contains(early, "402") {
		t.Errorf("%s", early)
	}
	if then := a.sh(exitFine, "why", "--position", "31"); !strings.Contains(then, "failed: its client got 500") {
		t.Errorf("the last trouble before the refusal: %s", then)
	}
}
