package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// paint is what an output takes: colours if it is a terminal, and lines that
// are as wide as it is.
type paint struct {
	colours bool
	width   int // 0: any
}

// The colours, by what they mean.
const (
	good  = "32"
	bad   = "31"
	wait  = "33"
	faint = "2"
	bold  = "1"
)

func (p paint) in(colour, s string) string {
	if !p.colours || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// paintOf looks at the output. COLUMNS says its width where it says nothing
// itself, or something else.
func paintOf(s *std) paint {
	width, term := columns(s.out)
	p := paint{colours: term && !s.plain && s.env["NO_COLOR"] == "" && s.env["TERM"] != "dumb", width: width}
	if n, err := strconv.Atoi(s.env["COLUMNS"]); err == nil && n > 0 {
		p.width = n
	}
	return p
}

// columns is the width of a terminal; ok is false where an output is none.
func columns(w io.Writer) (n int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}

// sentences writes one a line, wrapped between words where a line would be
// wider than the output; the first one has a colour.
func (p paint) sentences(w io.Writer, list []string, colour string) error {
	for i, s := range list {
		if s = p.wrap(s); i == 0 {
			s = p.in(colour, s)
		}
		if _, err := fmt.Fprintln(w, s); err != nil {
			return err
		}
	}
	return nil
}

// narrowest is the width below which nothing is fitted any more.
const narrowest = 20

func (p paint) wrap(s string) string {
	if p.width < narrowest {
		return s
	}
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(s, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > p.width:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
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

// write aligns the columns; where they do not fit, each row is a block of lines.
func (t *table) write(w io.Writer) error {
	var widths []int
	whole := -2
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
				whole += 2
			}
			n := utf8.RuneCountInString(c.text)
			whole += max(0, n-widths[i])
			widths[i] = max(widths[i], n)
		}
	}
	if t.paint.width >= narrowest && whole > t.paint.width && len(t.rows) > 1 {
		return t.stacked(w)
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

// stacked writes each row as its first cell and a line for each of the others
// that says something.
func (t *table) stacked(w io.Writer) error {
	names, wide := t.rows[0], 0
	for _, c := range names[1:] {
		wide = max(wide, utf8.RuneCountInString(c.text))
	}
	var b strings.Builder
	for _, r := range t.rows[1:] {
		b.WriteString(t.paint.in(r[0].colour, r[0].text) + "\n")
		for i, c := range r[1:] {
			if c.text != "-" {
				fmt.Fprintf(&b, "  %s  %s\n", t.paint.in(faint, fmt.Sprintf("%-*s", wide, strings.ToLower(names[i+1].text))), t.paint.in(c.colour, c.text))
			}
		}
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
