package sqlite

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"modernc.org/libc"
	engine "modernc.org/sqlite/lib"
	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// placed is a record with its place.
type placed struct {
	record *events.Record
	at     ledger.Head
}

const (
	rowColumns = 14           // that are inserted of a row
	blobBytes  = 16 + 16 + 32 // of a row's id, request and hash
	mostRows   = 128          // of one statement
)

// inserts put rows into events, several with one statement: what a statement
// costs however few rows it has (three trees opened and searched from their
// roots) is as much as the rest of a row. Blobs are bound where they lie: the
// bindings would give each a block of memory and copy it there byte by byte.
type inserts struct {
	conn *zs.Conn
	tls  *libc.TLS
	of   []insert // each of half as many rows as the one before
	held held
}

// insert is a statement of some rows.
type insert struct {
	rows   int
	stmt   *zs.Stmt // nil: not needed yet
	handle uintptr  // the engine's own
}

func newInserts(c *zs.Conn, tls *libc.TLS) *inserts {
	in := &inserts{conn: c, tls: tls}
	for rows := mostRows; rows > 0; rows /= 2 {
		in.of = append(in.of, insert{rows: rows})
	}
	return in
}

// largest is the statement of the most rows that there are enough for.
func (in *inserts) largest(rows int) (*insert, error) {
	for i := range in.of {
		if s := &in.of[i]; s.rows <= rows {
			return s, in.prepare(s)
		}
	}
	return nil, nil
}

// prepare writes the statement. A commit that fails is given up as a whole, and
// OR ROLLBACK says so: the engine need not be able to undo this statement alone.
func (in *inserts) prepare(s *insert) (err error) {
	if s.stmt != nil {
		return nil
	}
	row := ",(?" + strings.Repeat(",?", rowColumns-1) + ")"
	sql := "INSERT OR ROLLBACK INTO events (" + inserted + ") VALUES " + strings.Repeat(row, s.rows)[1:]
	if s.stmt, err = in.conn.Prepare(sql); err != nil {
		return err
	}
	s.handle, err = handle(s.stmt)
	return err
}

// handle is the engine's statement, which the bindings keep to themselves.
func handle(s *zs.Stmt) (uintptr, error) {
	f := reflect.ValueOf(s).Elem().FieldByName("stmt")
	if f.Kind() != reflect.Uintptr || f.Uint() == 0 {
		return 0, fmt.Errorf("the SQLite bindings have changed: no handle in %T", s)
	}
	return uintptr(f.Uint()), nil
}

// rowNumbers are the names of a row as they are stored.
type rowNumbers struct{ writer, account, model int64 }

// bind gives the statement its row at an index.
func (in *inserts) bind(s *insert, index int, p *placed, n rowNumbers) error {
	r := p.record
	b := binding{in: in, stmt: s.handle, at: int32(index * rowColumns)}
	b.int(int64(p.at.RecordedAt))
	b.int(int64(r.ObservedAt))
	b.blob(r.ID[:])
	b.int(n.writer)
	b.int(int64(r.WriterSeq))
	b.int(n.account)
	b.int(int64(r.Epoch))
	b.int(n.model)
	if r.Request == uuid.Nil {
		b.null()
	} else {
		b.blob(r.Request[:])
	}
	b.int(int64(r.Attempt))
	b.int(int64(r.Kind))
	b.int(int64(r.Version)<<8 | int64(r.Codec))
	b.blob(r.Payload)
	b.blob(p.at.Hash[:])
	if b.failed != 0 {
		return fmt.Errorf("bind: %w", zs.ResultCode(b.failed).ToError())
	}
	return nil
}

// binding counts through the parameters of a row.
type binding struct {
	in     *inserts
	stmt   uintptr
	at     int32 // of the parameter that was bound last, from 1
	failed int32 // a code of the engine's
}

func (b *binding) int(v int64) {
	b.at++
	b.failed |= engine.Xsqlite3_bind_int64(b.in.tls, b.stmt, b.at, v)
}

func (b *binding) null() {
	b.at++
	b.failed |= engine.Xsqlite3_bind_null(b.in.tls, b.stmt, b.at)
}

func (b *binding) blob(v []byte) {
	b.at++
	b.failed |= engine.Xsqlite3_bind_blob(b.in.tls, b.stmt, b.at, b.in.held.hold(v), int32(len(v)), engine.SQLITE_STATIC)
}

// held is memory outside of Go's heap, where the engine may look for what is
// bound until the statement has run.
type held struct {
	bytes []byte
	used  int
}

const leastHeld = 64 << 10

// clear makes room for n bytes. What was held before is gone.
func (m *held) clear(n int) error {
	m.used = 0
	if n <= len(m.bytes) {
		return nil
	}
	m.free()
	bytes, err := unix.Mmap(-1, 0, max(2*n, leastHeld), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("memory for %d bytes: %w", n, err)
	}
	m.bytes = bytes
	return nil
}

// hold copies what there was made room for, and says where it is.
func (m *held) hold(v []byte) uintptr {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(m.bytes))) + uintptr(m.used)
	m.used += copy(m.bytes[m.used:], v)
	return at
}

func (m *held) free() {
	if m.bytes != nil {
		_ = unix.Munmap(m.bytes) // it was mapped whole
	}
	m.bytes = nil
}
