package scenario

import (
	"fmt"
	"strings"
)

// A transcript is a list of blocks: comments and commands, one a line, a line
// of four dashes, and what they printed, to the next empty line.

// Run runs a transcript and returns it with what its commands print now.
func (w *World) Run(text string) string {
	var out strings.Builder
	for _, block := range blocks(text) {
		if block.commands == nil {
			out.WriteString(block.text + "\n\n")
			continue
		}
		out.WriteString(block.text + "\n----\n")
		for _, c := range block.commands {
			if err := w.command(c); err != nil {
				w.tracef("error: %v", err)
			}
		}
		out.WriteString(w.took() + "\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

type block struct {
	text     string // comments and commands, as written
	commands []string
}

func blocks(text string) (all []block) {
	for _, part := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		part = strings.Trim(part, "\n")
		if part == "" {
			continue
		}
		head, _, _ := strings.Cut(part+"\n", "\n----\n")
		b := block{text: strings.TrimRight(head, "\n")}
		for _, line := range strings.Split(b.text, "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				b.commands = append(b.commands, line)
			}
		}
		all = append(all, b)
	}
	return all
}

// args are a command's words: positional ones, and name=value.
type args struct {
	pos   []string
	named map[string]string
	rest  string // everything after the command's own name
}

func (w *World) command(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	run, ok := commandTable()[name]
	if !ok {
		return fmt.Errorf("no command %q", name)
	}
	a := args{named: map[string]string{}, rest: strings.TrimSpace(rest)}
	for _, f := range strings.Fields(rest) {
		if k, v, named := strings.Cut(f, "="); named {
			a.named[k] = v
		} else {
			a.pos = append(a.pos, f)
		}
	}
	if err := run(w, a); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

func (a *args) first() string {
	if len(a.pos) == 0 {
		return ""
	}
	return a.pos[0]
}

// after cuts the first n words off the command's text.
func (a *args) after(n int) string {
	rest := a.rest
	for range n {
		_, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	return strings.TrimSpace(rest)
}
