// Package coverage keeps docs/coverage.md: which test holds each case that was
// handed to the project, or why the case does not apply.
package coverage

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/coverage.md")

const root = "../.."

// exempt are the cases without a test, each with its reason.
var exempt = map[string]string{
	"B025": "budgets with reservation come later; nothing is spent from a budget yet",
	"B028": "the ledger is a database: there is no line to tear (a killed writer is tested in ledger/sqlite and test/kill)",
	"B109": "budgets with a time zone come later; instants with an offset are a test of the one time parser",
	"A7":   "pending bytes are not counted: placement weighs requests in flight",
	"A23":  "every body is taken in whole and replayable, so there is no body that cannot be replayed",
}

// notes are cases whose value differs because the design wins.
var notes = map[string]string{
	"B110": "the provider's calendar rule; local reset hours come with budgets",
}

type testcase struct{ id, kind, title string }

func cases(t *testing.T) []testcase {
	t.Helper()
	f, err := os.Open("testdata/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []testcase
	for s := bufio.NewScanner(f); s.Scan(); {
		cols := strings.SplitN(s.Text(), "\t", 3)
		if len(cols) != 3 {
			t.Fatalf("testdata/cases.tsv: %q", s.Text())
		}
		out = append(out, testcase{cols[0], cols[1], cols[2]})
	}
	return out
}

// function finds the tests: -run looks at the names of functions first, so an
// id must stand there, whatever its subtests are called.
var function = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

var caseID = regexp.MustCompile(`^[OGAB]\d{1,3}$`)

// found maps ids to the files whose tests carry them in their names.
func found(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "coverage") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		place, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			for _, id := range strings.Split(m[1], "_") {
				if caseID.MatchString(id) && !slices.Contains(out[id], place) {
					out[id] = append(out[id], place)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryCaseIsATestOrSaysWhyNot(t *testing.T) {
	places := found(t)
	signals, err := os.ReadFile(filepath.Join(root, "gateway/provider/catalogue/testdata/provider-signals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Coverage of the handed cases\n\nWritten by `go test ./test/coverage -update`; the test fails when a case has neither a test nor a reason.\n" +
		"Any id is found by `go test ./... -run '(^|_|/)<id>(_|$)'`.\n\n| id | case | kept by | verdict |\n|---|---|---|---|\n")
	for _, c := range cases(t) {
		where := places[c.id]
		if c.kind == "signal" && strings.Contains(string(signals), `"`+c.id+`"`) {
			where = []string{"gateway/provider/catalogue/signals_test.go"}
		}
		verdict := "holds"
		switch reason, ok := exempt[c.id]; {
		case len(where) > 0:
			if n := notes[c.id]; n != "" {
				verdict = n
			}
		case ok:
			verdict = "does not apply: " + reason
		default:
			t.Errorf("%s (%s: %s) has no test", c.id, c.kind, c.title)
		}
		fmt.Fprintf(&b, "| %s | %s: %s | %s | %s |\n", c.id, c.kind, strings.ReplaceAll(c.title, "|", "\\|"), strings.Join(where, ", "), verdict)
	}
	path := filepath.Join(root, "docs/coverage.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != b.String() {
		t.Errorf("docs/coverage.md is stale (%v): run go test ./test/coverage -update", err)
	}
}
