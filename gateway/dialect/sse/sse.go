// Package sse splits an event stream into events as it passes, at any chunk
// boundary and with any line ending, in bounded memory. It decides nothing
// about what the events mean.
package sse

// HoldLine is the longest incomplete line, and the longest data of an event,
// that is put together in one piece, in bytes. Longer data is handed over in
// pieces, and a longer line counts as safe while it is still incomplete.
const HoldLine = 64 << 10

// Handler is told what a stream holds. Slices are valid during the call only.
type Handler interface {
	// Event is a whole event whose data is in one piece. name is "" when the
	// event has none.
	Event(name, data []byte)
	// Piece is the next piece of an event's data that is longer than HoldLine;
	// Event with nil data ends it.
	Piece(p []byte)
	// Stray is a line that belongs to no event stream: it begins with no field
	// name. Gemini writes errors like that.
	Stray(line []byte)
}
