package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const commandsPage = "../../docs/commands.md"

// TestReferenceOfCommandsIsFresh: every command and every flag has its line there.
func TestReferenceOfCommandsIsFresh(t *testing.T) {
	page := commandsReference()
	if *update {
		if err := os.WriteFile(commandsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.ReadFile(commandsPage)
	if err != nil || string(held) != page {
		t.Fatalf("docs/commands.md is stale (%v): run `make docs`", err)
	}
}

// commandsReference is the page of all commands, from what they say themselves.
func commandsReference() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nWritten by `make docs`. `waybill COMMAND --help` prints the same.\n\nEvery command takes:\n")
	root := newRoot(&std{})
	flags := func(usages string) {
		if usages != "" {
			b.WriteString("\n```text\n" + usages + "```\n")
		}
	}
	flags(root.PersistentFlags().FlagUsages())
	eachCommand(root, func(c *cobra.Command) {
		if !c.HasParent() {
			return
		}
		text := c.Short + "."
		if c.Long != "" {
			text = c.Long
		}
		fmt.Fprintf(&b, "\n## %s\n\n`%s`\n\n%s\n", c.CommandPath(), strings.TrimSuffix(c.UseLine(), " [flags]"), text)
		flags(c.LocalNonPersistentFlags().FlagUsages())
	})
	return b.String()
}

func eachCommand(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			eachCommand(sub, fn)
		}
	}
}

// TestEveryCommandThatAPageNamesIsThere reads `waybill ...` wherever a page
// writes it: its commands and flags must be those of the binary.
func TestEveryCommandThatAPageNamesIsThere(t *testing.T) {
	named := regexp.MustCompile("(?m)(?:`|^\\$ |^bin/|^)waybill ([a-z][^`\n]*)")
	n := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			n++
			if err := commandExists(strings.Fields(strings.TrimRight(m[1], ".,;"))); err != nil {
				t.Errorf("%s: waybill %s: %v", page, m[1], err)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d commands were found in the pages", n)
	}
}

func commandExists(words []string) error {
	root := newRoot(&std{})
	root.InitDefaultCompletionCmd()
	at, rest, err := root.Find(words)
	if err != nil || !at.HasParent() {
		return fmt.Errorf("there is no such command (%w)", err)
	}
	for _, w := range rest {
		name := strings.Trim(w, "[]()|,.")
		long, _, _ := strings.Cut(strings.TrimPrefix(name, "--"), "=")
		switch {
		case strings.HasPrefix(name, "--"):
			if at.Flags().Lookup(long) == nil && at.InheritedFlags().Lookup(long) == nil && long != "help" {
				return fmt.Errorf("%s has no flag --%s", at.CommandPath(), long)
			}
		case strings.HasPrefix(name, "-") && len(name) == 2:
			if at.Flags().ShorthandLookup(name[1:]) == nil {
				return fmt.Errorf("%s has no flag %s", at.CommandPath(), name)
			}
		}
	}
	return nil
}

// pages are the ones that people read.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/decisions/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		all = append(all, found...)
	}
	return all
}
