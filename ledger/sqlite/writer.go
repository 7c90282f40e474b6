package sqlite

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// writer is the one connection that appends.
type writer struct {
	conn *zs.Conn
	head ledger.Head
	ids  ledger.Recent

	accounts, models, writers numbers
	of                        map[uuid.UUID]int64
	block                     block

	begin, commitStmt, byID *zs.Stmt

	pending []placed // rows that wait to be inserted
	inserts *inserts
	names   dictionaries
	arena   []byte
	warm    *warm
	files   [2]*gathered // the log and the database; nil: not needed yet, or not to be gathered
}

// pragmas of the writing connection, in order.
var pragmas = [...]string{
	"PRAGMA journal_mode=WAL",
	"PRAGMA synchronous=FULL",
	fmt.Sprintf("PRAGMA wal_autocheckpoint=%d", walPages),
	"PRAGMA cache_size=-2048",
	"PRAGMA temp_store=MEMORY",
	"PRAGMA trusted_schema=OFF",
}

func openWriter(path string) (*writer, error) {
	c, err := open(path, zs.OpenReadWrite|zs.OpenCreate)
	if err != nil {
		return nil, err
	}
	w := &writer{
		conn:     c,
		accounts: numbers{table: "accounts", known: map[string]int64{}},
		models:   numbers{table: "models", known: map[string]int64{}},
		writers:  numbers{table: "writers", known: map[string]int64{}},
		names:    newDictionaries(), of: map[uuid.UUID]int64{},
		warm:    newWarm(),
		pending: make([]placed, 0, mostRows),
	}
	w.inserts = newInserts(c, w.warm.tls)
	if err := w.start(path); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) start(path string) error {
	if _, err := recognise(w.conn); err != nil { // before anything is written
		return err
	}
	for _, p := range pragmas {
		if err := sqlitex.ExecuteTransient(w.conn, p, nil); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := migrate(w.conn); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if err := extendWAL(path); err != nil {
		return err
	}
	if err := w.resume(); err != nil {
		return err
	}
	for i, file := range [len(w.files)]int32{logFile, databaseFile} {
		var err error
		if w.files[i], err = newGathered(w.conn, w.warm.tls, file); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) prepare() error {
	for _, p := range []struct {
		s   **zs.Stmt
		sql string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commitStmt, "COMMIT"},
		{&w.byID, "SELECT " + columns + " FROM events WHERE id = ?"},
	} {
		var err error
		if *p.s, err = w.conn.Prepare(p.sql); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

// resume reads where the ledger stands.
func (w *writer) resume() error {
	h, err := readHead(w.conn)
	if err != nil {
		return err
	}
	w.head = h
	s, err := w.conn.Prepare("SELECT max(id) FROM events")
	if err != nil {
		return err
	}
	_, err = s.Step()
	var greatest uuid.UUID
	s.ColumnBytes(0, greatest[:])
	if err := finish(s, err); err != nil {
		return err
	}
	w.ids = ledger.NewRecent(greatest)
	return w.block.resume(w.conn, h.Position)
}

func readHead(c *zs.Conn) (h ledger.Head, err error) {
	s, err := c.Prepare("SELECT position, recorded_at, hash FROM events ORDER BY position DESC LIMIT 1")
	if err != nil {
		return h, err
	}
	found, err := s.Step()
	if found {
		h.Position, h.RecordedAt = events.Position(s.ColumnInt64(0)), events.Time(s.ColumnInt64(1))
		s.ColumnBytes(2, h.Hash[:])
	}
	return h, finish(s, err)
}

// commit appends a batch in one transaction. After an error the writer must
// not be used again.
func (w *writer) commit(batch []events.Record, content []events.Hash, now events.Time) ([]ledger.Result, error) {
	if err := run(w.begin); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	w.warm.commit()
	results := make([]ledger.Result, len(batch))
	for i := range batch {
		var err error
		if results[i], err = w.add(&batch[i], content[i], now); err != nil {
			return nil, fmt.Errorf("event %s: %w", batch[i].ID, err)
		}
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	if err := run(w.commitStmt); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return results, nil
}

// add appends one record, unless its id is known.
func (w *writer) add(r *events.Record, content events.Hash, now events.Time) (ledger.Result, error) {
	if w.ids.May(r.ID) {
		if res, known, err := w.known(r.ID, content); known || err != nil {
			return res, err
		}
	}
	h := ledger.Head{Position: w.head.Position + 1, RecordedAt: max(now, w.head.RecordedAt+1)}
	h.Hash = events.Chain(w.head.Hash, h.Position, h.RecordedAt, content)
	if err := w.put(r, &h); err != nil {
		return ledger.Result{}, err
	}
	w.head = h
	return ledger.Result{Position: h.Position, RecordedAt: h.RecordedAt, Hash: h.Hash}, nil
}

// known looks an id up: the same content is answered with its place, other
// content is a conflict.
func (w *writer) known(id uuid.UUID, content events.Hash) (res ledger.Result, known bool, err error) {
	if err := w.flush(); err != nil { // it may be one of those that wait
		return res, false, err
	}
	w.byID.BindBytes(1, id[:])
	found, err := w.byID.Step()
	if err != nil || !found {
		return res, false, finish(w.byID, err)
	}
	var row numbered
	w.arena = row.load(w.byID, w.arena[:0])
	if err := finish(w.byID, nil); err != nil {
		return res, false, err
	}
	if err := row.resolve(w.conn, &w.names); err != nil {
		return res, false, err
	}
	if row.ContentHash() != content {
		return ledger.Result{Err: ledger.ErrConflict}, true, nil
	}
	return ledger.Result{Position: row.Position, RecordedAt: row.RecordedAt, Hash: row.Hash, Known: true}, true, nil
}

// resolve looks the row's names up.
func (r *numbered) resolve(c *zs.Conn, n *dictionaries) (err error) {
	if r.foreign != "" {
		return ledger.Foreign(r.Position, r.foreign)
	}
	if r.Account, err = n[0].name(c, r.account); err != nil {
		return r.nameless(err, "account")
	}
	if r.Model, err = n[1].name(c, r.model); err != nil {
		return r.nameless(err, "model")
	}
	writer, err := n[2].name(c, r.writer)
	if err == nil && writer != "" && len(writer) != len(r.Writer) {
		err = errNameless
	}
	r.Writer = uuid.Nil
	copy(r.Writer[:], writer)
	return r.nameless(err, "writer")
}

// nameless is the fault of a row whose number in a column stands for nothing.
func (r *numbered) nameless(err error, column string) error {
	if errors.Is(err, errNameless) {
		return ledger.Foreign(r.Position, column)
	}
	return err
}

// put queues a row. Once there are enough, they are inserted together.
func (w *writer) put(r *events.Record, h *ledger.Head) error {
	w.ids.Add(r.ID)
	w.pending = append(w.pending, placed{r, *h})
	if len(w.pending) < mostRows {
		return nil
	}
	return w.flush()
}

// flush inserts the rows that wait.
func (w *writer) flush() error {
	for rest := w.pending; len(rest) > 0; {
		s, err := w.inserts.largest(len(rest))
		if err != nil {
			return err
		}
		if err := w.insert(s, rest[:s.rows]); err != nil {
			return fmt.Errorf("insert %d events from %d: %w", s.rows, rest[0].at.Position, err)
		}
		rest = rest[s.rows:]
	}
	w.pending = w.pending[:0]
	return nil
}

// insert runs a statement with as many rows as it takes.
func (w *writer) insert(s *insert, rows []placed) error {
	size := 0
	for i := range rows {
		size += blobBytes + len(rows[i].record.Payload)
	}
	if err := w.inserts.held.clear(size); err != nil {
		return err
	}
	for i := range rows {
		n, err := w.numbers(rows[i].record)
		if err != nil {
			return err
		}
		if err := w.inserts.bind(s, i, &rows[i], n); err != nil {
			return err
		}
		if err := w.block.add(w.conn, rows[i].at.Position, n.account); err != nil {
			return err
		}
	}
	if err := run(s.stmt); err != nil {
		return err
	}
	if last := rows[len(rows)-1].at.Position; w.conn.LastInsertRowID() != int64(last) {
		return fmt.Errorf("%w: the row for position %d went to %d", ledger.ErrBroken, last, w.conn.LastInsertRowID())
	}
	return nil
}

// numbers are those of a record's names.
func (w *writer) numbers(r *events.Record) (n rowNumbers, err error) {
	if n.account, err = w.accounts.number(w.conn, r.Account, false); err != nil {
		return n, err
	}
	if n.model, err = w.models.number(w.conn, r.Model, false); err != nil {
		return n, err
	}
	n.writer, err = w.writerNumber(r.Writer)
	return n, err
}

// writerNumber is the number of an event's writer: as a rule that of the event
// before.
func (w *writer) writerNumber(id uuid.UUID) (int64, error) {
	if id == uuid.Nil {
		return 0, nil
	}
	if n, ok := w.of[id]; ok {
		return n, nil
	}
	n, err := w.writers.number(w.conn, string(id[:]), true)
	if err == nil {
		w.of[id] = n
	}
	return n, err
}

// run steps a statement that returns no rows.
func run(s *zs.Stmt) error {
	_, err := s.Step()
	return finish(s, err)
}

// close rolls back what is open.
func (w *writer) close() error {
	defer w.warm.free()
	defer w.inserts.held.free()
	defer w.files[0].free()
	defer w.files[1].free()
	return w.conn.Close()
}
