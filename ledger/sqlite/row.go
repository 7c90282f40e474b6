package sqlite

import (
	"math"

	"github.com/google/uuid"
	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// columns, in the order in which writer.put binds and numbered.load reads them.
const columns = "position, " + inserted

// inserted are the columns of an insert: the engine gives each row the position
// behind the greatest one, which it finds without a search.
const inserted = "recorded_at, observed_at, id, writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash"

// numbered is a row as stored, before its names are looked up.
type numbered struct {
	ledger.Row
	writer, account, model int64
	foreign                string // a column that is stored as no append stores it
}

// load reads a row of columns. The payload is appended to arena.
func (r *numbered) load(s *zs.Stmt, arena []byte) []byte {
	r.Position = events.Position(s.ColumnInt64(0))
	r.foreign = foreign(s)
	r.RecordedAt = events.Time(s.ColumnInt64(1))
	r.ObservedAt = events.Time(s.ColumnInt64(2))
	s.ColumnBytes(3, r.ID[:])
	r.writer = s.ColumnInt64(4)
	r.WriterSeq = uint64(s.ColumnInt64(5))
	r.account = s.ColumnInt64(6)
	r.Epoch = events.Epoch(s.ColumnInt64(7))
	r.model = s.ColumnInt64(8)
	clear(r.Request[:])
	if s.ColumnBytes(9, r.Request[:]); r.Request == uuid.Nil && s.ColumnType(9) != zs.TypeNull {
		r.foreign = "request" // none is stored as NULL
	}
	r.Attempt = uint32(s.ColumnInt64(10))
	r.Kind = events.Kind(s.ColumnInt64(11))
	format := s.ColumnInt64(12)
	r.Version, r.Codec = uint16(format>>8), byte(format)
	r.Payload, arena = room(arena, s.ColumnLen(13))
	s.ColumnBytes(13, r.Payload)
	s.ColumnBytes(14, r.Hash[:])
	return arena
}

// foreign names a column that holds more than load takes from it. The chain is
// over what was taken, and would not show the rest.
func foreign(s *zs.Stmt) string {
	switch {
	case s.ColumnLen(3) != len(uuid.UUID{}):
		return "id"
	case s.ColumnType(9) != zs.TypeNull && s.ColumnLen(9) != len(uuid.UUID{}):
		return "request"
	case uint64(s.ColumnInt64(10)) > math.MaxUint32:
		return "attempt"
	case uint64(s.ColumnInt64(11)) > math.MaxUint16:
		return "kind"
	case uint64(s.ColumnInt64(12)) > math.MaxUint16<<8|math.MaxUint8:
		return "format"
	case s.ColumnLen(14) != len(events.Hash{}):
		return "hash"
	}
	return ""
}

// room cuts n bytes from arena, or from a larger one when it is used up; what
// was cut before stays valid.
func room(arena []byte, n int) (cut, rest []byte) {
	if len(arena)+n > cap(arena) {
		arena = make([]byte, 0, 2*cap(arena)+n+4096)
	}
	at := len(arena)
	arena = arena[:at+n]
	return arena[at : at+n : at+n], arena
}
