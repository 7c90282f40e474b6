package dialect

import (
	"bytes"

	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// like is what a stream's frames have in common: most of them differ from the
// one before in one text alone, and then they change nothing once content was
// seen. To compare bytes costs a fifth of reading the JSON.
type like struct{ before, after []byte }

// sameButText recognises a frame that is the last one judged but for its text.
func sameButText(f *frames, data []byte) bool {
	l := &f.like
	return len(l.before) > 0 && len(data) >= len(l.before)+len(l.after) &&
		bytes.HasPrefix(data, l.before) && bytes.HasSuffix(data, l.after) &&
		jsonscan.IsText(data[len(l.before):len(data)-len(l.after)])
}

// learn keeps what surrounds the text of the frame at hand: the first of the
// fields that stands in it once. All that the rest says was taken already, and
// to take it again would change nothing.
func (f *frames) learn(text []int) {
	f.like.before = f.like.before[:0]
	if f.frame == nil {
		return
	}
	for _, field := range text {
		if m := f.json.Member(field); m.Kind == jsonscan.String && m.Times == 1 {
			f.like.before = append(f.like.before, f.frame[:m.From+1]...)
			f.like.after = append(f.like.after[:0], f.frame[m.To-1:]...)
			return
		}
	}
}
