package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	day "github.com/waybill/waybill/test/recorded"
)

const runbook = "../../docs/incident.md"

// A fence of the page: commands at the incident's hour or on the whole day's
// ledger, or a file that they use.
var fences = regexp.MustCompile("(?ms)^```(console at 13:30|console later|yaml [a-z.]+)\n(.*?)^```\n")

// desk is where the page's commands are run: a directory with the incident's
// ledger as it stood at 13:30, and one with the whole day's.
type desk struct {
	t    *testing.T
	dir  string
	now  time.Time
	said map[string]string // an id or a hash on the page: the one of this run
}

func newDesks(t *testing.T) map[string]*desk {
	log := day.Play(t)
	half := time.Date(2026, 9, 21, 13, 30, 30, 0, time.UTC)
	said := map[string]string{}
	desks := map[string]*desk{
		"console at 13:30": {t: t, dir: t.TempDir(), now: half, said: said},
		"console later":    {t: t, dir: t.TempDir(), now: half.Add(30 * 24 * time.Hour), said: said},
	}
	day.Write(t, log, filepath.Join(desks["console at 13:30"].dir, "waybill.db"), events.At(half))
	day.Write(t, log, filepath.Join(desks["console later"].dir, "waybill.db"), 0)
	return desks
}

// run runs one command line in the desk's directory, at its time.
func (d *desk) run(line string) string {
	d.t.Helper()
	for from, to := range d.said {
		line = strings.ReplaceAll(line, from, to)
	}
	args := words(line)
	if args[0] != "waybill" {
		d.t.Fatalf("%q is no command of ours", line)
	}
	d.t.Chdir(d.dir)
	var out, errs bytes.Buffer
	s := &std{in: strings.NewReader(""), out: &out, err: &errs, now: func() time.Time { return d.now },
		env: environment([]string{"WAYBILL_LEDGER=sqlite:waybill.db", "WAYBILL_SPOOL=spool.db", "WAYBILL_ADMIN_LISTEN=127.0.0.1:1"})}
	root := newRoot(s)
	root.SetArgs(args[1:])
	if err := root.ExecuteContext(d.t.Context()); err != nil {
		d.t.Fatalf("%s: %v\n%s%s", line, err, out.String(), errs.String())
	}
	return out.String()
}

// words splits a command line; double quotes keep blanks.
func words(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// fresh are what differs from run to run: ids and hashes. All times, positions,
// numbers and words are compared as they are.
var fresh = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{64}\b`)

// same compares an output with the page's: an id or a hash must stand where the
// page has one, and the same one wherever the page has the same.
func (d *desk) same(page, got string) bool {
	if fresh.ReplaceAllString(page, "*") != fresh.ReplaceAllString(got, "*") {
		return false
	}
	want, have := fresh.FindAllString(page, -1), fresh.FindAllString(got, -1)
	for i := range want {
		if known, ok := d.said[want[i]]; ok && known != have[i] {
			return false
		}
		d.said[want[i]] = have[i]
	}
	return true
}

// follow runs a block's commands and returns the block as this run prints it.
func (d *desk) follow(block string) string {
	d.t.Helper()
	var out strings.Builder
	for i, part := range strings.Split("\n"+block, "\n$ ") {
		if i == 0 {
			continue
		}
		line, page, _ := strings.Cut(part, "\n")
		got := d.run(line)
		if !*update && !d.same(strings.TrimRight(page, "\n"), strings.TrimRight(got, "\n")) {
			d.t.Errorf("$ %s\n--- prints\n%s--- the page has\n%s", line, got, page)
		}
		if i > 1 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "$ %s\n%s", line, got)
	}
	return out.String()
}

func TestEveryCommandOfTheRunbookPrintsWhatThePageSays(t *testing.T) {
	page, err := filepath.Abs(runbook)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	desks, commands := newDesks(t), 0
	now := fences.ReplaceAllStringFunc(string(text), func(fence string) string {
		m := fences.FindStringSubmatch(fence)
		if name, is := strings.CutPrefix(m[1], "yaml "); is {
			for _, d := range desks {
				write(t, filepath.Join(d.dir, name), m[2])
			}
			return fence
		}
		commands += strings.Count("\n"+m[2], "\n$ ")
		return "```" + m[1] + "\n" + desks[m[1]].follow(m[2]) + "```\n"
	})
	if commands < 10 || strings.Count(string(text), "```") != 2*len(fences.FindAllString(string(text), -1)) {
		t.Errorf("%d commands were run: a block of the page was passed over", commands)
	}
	if *update {
		write(t, page, now)
	}
}
