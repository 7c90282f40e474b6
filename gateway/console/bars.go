package console

import (
	"strconv"
	"strings"

	"github.com/waybill/waybill/projections/story"
)

// bar is a window drawn: how much of it is left, where that is known.
type bar struct {
	story.Window
	Known bool   // a number is
	Rest  string // what is left, in words
	Left  string // per cent, of the provider's own numbers
	Wide  string // Left, cut to what can be drawn
	Tone  string
}

func bars(windows []story.Window) []bar {
	out := make([]bar, len(windows))
	for i, w := range windows {
		out[i] = bar{Window: w, Tone: flagTone(&w), Rest: w.Flag()}
		left, known := leftOf(&w)
		if !known {
			continue
		}
		out[i].Known, out[i].Left = true, strconv.FormatFloat(left, 'f', -1, 64)
		if at := strings.IndexByte(out[i].Left, '.'); at >= 0 && len(out[i].Left) > at+2 {
			out[i].Left = strconv.FormatFloat(left, 'f', 1, 64)
		}
		out[i].Rest = out[i].Left + " % left"
		out[i].Wide = strconv.FormatFloat(min(max(left, 0), 100), 'f', 2, 64)
		switch {
		case w.Stale:
			out[i].Tone = "off"
		case w.Reached != nil && *w.Reached, left <= 0:
			out[i].Tone = "bad"
		case left < 20:
			out[i].Tone = "wait"
		default:
			out[i].Tone = "good"
		}
	}
	return out
}

// flagTone is the colour of a window that no number is known of.
func flagTone(w *story.Window) string {
	switch {
	case w.Stale || w.Reached == nil:
		return "off"
	case *w.Reached:
		return "bad"
	}
	return "good"
}

// leftOf is the percentage of a window that is left, where its provider says one.
func leftOf(w *story.Window) (float64, bool) {
	if w.Left == nil {
		return 0, false
	}
	left, err := w.Left.Float64()
	return left, err == nil
}
