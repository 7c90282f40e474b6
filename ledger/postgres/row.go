package postgres

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// columns in the order of add and load.
const columns = "position, recorded_at, observed_at, id, writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash"

// load reads a row of columns in binary form. The payload is copied to arena.
func load(r *ledger.Row, raw [][]byte, arena []byte) ([]byte, error) {
	for i, size := range [...]int{8, 8, 8, 16, -1, 8, -1, 8, -1, -1, 8, 4, 4, -1, 32} {
		if size >= 0 && len(raw[i]) != size {
			return arena, fmt.Errorf("%w: column %d of a row has %d bytes", ledger.ErrBroken, i+1, len(raw[i]))
		}
	}
	r.Position = events.Position(binary.BigEndian.Uint64(raw[0]))
	if column := foreign(raw); column != "" {
		return arena, ledger.Foreign(r.Position, column)
	}
	r.RecordedAt = events.Time(binary.BigEndian.Uint64(raw[1]))
	r.ObservedAt = events.Time(binary.BigEndian.Uint64(raw[2]))
	r.ID = uuid.UUID(raw[3])
	r.Writer, r.Request = uuid.Nil, uuid.Nil
	copy(r.Writer[:], raw[4])
	r.WriterSeq = binary.BigEndian.Uint64(raw[5])
	if r.Account != string(raw[6]) {
		r.Account = string(raw[6])
	}
	r.Epoch = events.Epoch(binary.BigEndian.Uint64(raw[7]))
	if r.Model != string(raw[8]) {
		r.Model = string(raw[8])
	}
	copy(r.Request[:], raw[9])
	r.Attempt = uint32(binary.BigEndian.Uint64(raw[10]))
	r.Kind = events.Kind(binary.BigEndian.Uint32(raw[11]))
	format := binary.BigEndian.Uint32(raw[12])
	r.Version, r.Codec = uint16(format>>8), byte(format)
	at := len(arena)
	if at+len(raw[13]) > cap(arena) {
		arena, at = make([]byte, 0, 2*cap(arena)+len(raw[13])+4096), 0
	}
	arena = append(arena, raw[13]...)
	r.Payload = arena[at:len(arena):len(arena)]
	copy(r.Hash[:], raw[14])
	return arena, nil
}

// foreign names a column that holds more than load takes from it. The chain is
// over what was taken, and would not show the rest.
func foreign(raw [][]byte) string {
	switch {
	case len(raw[4]) > 0 && uuid.UUID(raw[4]) == uuid.Nil: // none is stored as NULL
		return "writer"
	case len(raw[9]) > 0 && uuid.UUID(raw[9]) == uuid.Nil:
		return "request"
	case raw[6] != nil && len(raw[6]) == 0:
		return "account"
	case raw[8] != nil && len(raw[8]) == 0:
		return "model"
	case binary.BigEndian.Uint64(raw[10]) > math.MaxUint32:
		return "attempt"
	case binary.BigEndian.Uint32(raw[11]) > math.MaxUint16:
		return "kind"
	case binary.BigEndian.Uint32(raw[12]) > math.MaxUint16<<8|math.MaxUint8:
		return "format"
	}
	return ""
}
