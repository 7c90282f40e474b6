package body

// Bytes is the body with the edits made where it is kept in memory; ok is
// false when it is not. The bytes must not be changed.
func (b *Body) Bytes(edits ...Edit) (p []byte, ok bool) {
	switch {
	case b.file != nil:
		return nil, false
	case len(edits) == 0:
		return b.mem, true
	}
	out := make([]byte, 0, b.Len(edits...))
	at := int64(0)
	for _, e := range edits {
		out = append(append(out, b.mem[at:e.From]...), e.With...)
		at = e.To
	}
	return append(out, b.mem[at:]...), true
}
