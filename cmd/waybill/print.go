package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// paint is how much colour an output takes: none unless it is a terminal.
type paint bool

// The colours, by what they mean.
const (
	good  = "32"
	bad   = "31"
	wait  = "33"
	faint = "2"
	bold  = "1"
)

func (p paint) in(colour, s string) string {
	if !p || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// paintOf says whether an output is a terminal that takes colour.
func paintOf(s *std) paint { return paint(terminal(s.out, s.env)) }

func terminal(w io.Writer, env map[string]string) bool {
	f, ok := w.(*os.File)
	if !ok || env["NO_COLOR"] != "" || env["TERM"] == "dumb" {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

// table aligns columns by what is seen, colours apart.
type table struct {
	paint paint
	rows  [][]cell
}

type cell struct{ text, colour string }

func (t *table) head(names ...string) {
	row := make([]cell, len(names))
	for i, n := range names {
		row[i] = cell{n, faint}
	}
	t.rows = append(t.rows, row)
}

func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

func plain(s string) cell {
	if s == "" {
		s = "-"
	}
	return cell{text: s}
}

func (t *table) write(w io.Writer) error {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var b strings.Builder
	for _, r := range t.rows {
		for i, c := range r {
			b.WriteString(t.paint.in(c.colour, c.text))
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printJSON writes one value, indented for people who look.
func printJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// colourOf is a state's or an outcome's colour.
func colourOf(word string) string {
	switch word {
	case "served", "available", "admitted":
		return good
	case "refused", "failed", "disabled", "skipped":
		return bad
	case "open", "aborted":
		return ""
	}
	return wait
}
