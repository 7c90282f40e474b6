package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong, where, and what to do about it.
type Fault struct {
	File string `json:"file"` // path, or the environment variable
	Position
	Problem string `json:"problem"`
	Mend    string `json:"mend"`
}

// Error is "file:line:column: problem: mend".
func (f Fault) Error() string {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	if f.Mend == "" {
		return where + ": " + f.Problem
	}
	return where + ": " + f.Problem + "; " + f.Mend
}

// Faults is everything that is wrong with a configuration, in its order.
type Faults []Fault

// Error lists them, one a line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

func (fs Faults) sorted() Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return fs
}

// nearest is the word most like s, "" when none is close: at most a third of
// its letters differ.
func nearest(s string, words []string) string {
	best, least := "", len(s)/3+1
	for _, w := range words {
		if d := distance(s, w); d < least || d == least && best == "" {
			best, least = w, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// didYouMean is the mend of a word that is not one of words.
func didYouMean(s string, words []string) string {
	if w := nearest(s, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "use one of " + strings.Join(words, ", ")
}
