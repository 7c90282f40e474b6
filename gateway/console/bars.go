package console

import (
	"strconv"
	"strings"

	"github.com/waybill/waybill/projections/story"
)

// bar is a window drawn: how much of it is left, where that is known.
type bar struct {
	story.Window
	Known bool
	Left  string // per cent, of the provider's own numbers
	Wide  string // Left, cut to what can be drawn
	Tone  string
}

func bars(windows []story.Window) []bar {
	out := make([]bar, len(windows))
	for i, w := range windows {
		out[i] = bar{Window: w, Tone: "off"}
		left, known := leftOf(&w)
		if !known {
			continue
		}
		out[i].Known, out[i].Left = true, strconv.FormatFloat(left, 'f', -1, 64)
		if at := strings.IndexByte(out[i].Left, '.'); at >= 0 && len(out[i].Left) > at+2 {
			out[i].Left = strconv.FormatFloat(left, 'f', 1, 64)
		}
		out[i].Wide = strconv.FormatFloat(min(max(left, 0), 100), 'f', 2, 64)
		switch {
		case w.Stale:
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

// leftOf is the percentage of a window that is left, as its provider says.
func leftOf(w *story.Window) (float64, bool) {
	if w.Left == nil {
		return 0, w.Reached != nil && *w.Reached
	}
	left, err := w.Left.Float64()
	return left, err == nil
}
