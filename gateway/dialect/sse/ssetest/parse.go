// Package ssetest is the dumb twin of package sse: the WHATWG algorithm for
// event streams over a whole text, as a strict client runs it.
package ssetest

import "strings"

// Event is one dispatched event.
type Event struct{ Name, Data string }

// Result is what a client makes of a text.
type Result struct {
	Events []Event
	Stray  []string // lines with no field name of the standard
	Rest   *Event   // an event that has data and no blank line at the end of the text: a strict client drops it
}

// Parse reads a whole text.
func Parse(text string) Result {
	var r Result
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	var name string
	var data []string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		last := i == len(lines)-1 // not ended: only Rest may tell of it
		switch field, value, _ := strings.Cut(line, ":"); {
		case line == "" && !last:
			if data != nil {
				r.Events = append(r.Events, Event{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
		case line == "", strings.HasPrefix(line, ":"), field == "id", field == "retry":
		case field == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		case field == "event":
			name = strings.TrimPrefix(value, " ")
		default:
			r.Stray = append(r.Stray, line)
		}
	}
	if data != nil {
		r.Rest = &Event{name, strings.Join(data, "\n")}
	}
	return r
}
