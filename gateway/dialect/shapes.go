package dialect

import "github.com/waybill/waybill/gateway/dialect/jsonscan"

// Bounds of what is kept of a frame, in bytes.
const (
	keepWord  = 256      // types, reasons, statuses
	keepID    = 512      // response ids
	keepError = 32 << 10 // an error object of a frame that came in pieces
)

// builder makes a shape and hands out the indexes of its fields.
type builder struct{ fields []jsonscan.Field }

func (b *builder) add(parent int, name string) int { return b.keep(parent, name, 0) }

func (b *builder) keep(parent int, name string, n int) int {
	b.fields = append(b.fields, jsonscan.Field{Parent: parent, Name: name, Keep: n})
	return len(b.fields) - 1
}

// failure is the field of a top-level error, kept whole.
func (b *builder) failure() int {
	i := b.keep(root, "error", keepError)
	b.fields[i].Whole = true
	return i
}

func (b *builder) usage(parent int, name string, rows []usageRow) (u usageFields) {
	b.fields, u = addUsage(b.fields, parent, name, rows)
	return u
}

func (b *builder) shape() *jsonscan.Shape { return jsonscan.NewShape(b.fields...) }

const root = jsonscan.Root

// fullAny says that one of the fields occurred with content.
func fullAny(s *jsonscan.Scanner, fields []int) bool {
	for _, i := range fields {
		if s.Full(i) {
			return true
		}
	}
	return false
}
