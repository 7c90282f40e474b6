package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/durable"
)

// Files are the books of a ledger that one process writes, in a directory
// beside it: NAME.position is a place, and each file in NAME.aside is a message.
// Every change is one rename or one removal, so a command may change them beside
// a running gateway. It implements ledger.Books.
type Files string

// The names of files.
const (
	placeExt    = ".position"
	asideExt    = ".aside"
	refusedExt  = ".json"
	requeuedExt = ".requeued"
)

// Book implements ledger.Books.
func (f Files) Book(name string) ledger.Book { return shelf(filepath.Join(string(f), name)) }

// Consumers implements ledger.Books.
func (f Files) Consumers(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), placeExt); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// shelf is the book of one consumer: a path without its ending.
type shelf string

// Place implements ledger.Book.
func (s shelf) Place(context.Context) (at events.Position, known bool, err error) {
	b, err := os.ReadFile(string(s) + placeExt)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%s: %w: want the last position that is delivered; without the file the feed begins at the ledger's end", string(s)+placeExt, ledger.ErrUnreadable)
	}
	return events.Position(n), true, nil
}

// Begin implements ledger.Book.
func (s shelf) Begin(ctx context.Context, at events.Position) error {
	if _, known, err := s.Place(ctx); known || err != nil {
		return err
	}
	return s.Keep(ctx, at)
}

// Keep implements ledger.Book. Only one process keeps places in a directory.
func (s shelf) Keep(_ context.Context, at events.Position) error {
	return replace(string(s)+placeExt, []byte(strconv.FormatUint(uint64(at), 10)+"\n"))
}

// PutAside implements ledger.Book.
func (s shelf) PutAside(_ context.Context, m ledger.Message) error {
	m.Requeued = false
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := s.file(m.ID)
	return errors.Join(replace(path+refusedExt, append(b, '\n')), remove(path+requeuedExt))
}

// Aside implements ledger.Book.
func (s shelf) Aside(context.Context) ([]ledger.Message, error) {
	entries, err := os.ReadDir(string(s) + asideExt)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []ledger.Message
	var bad error
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != refusedExt && ext != requeuedExt {
			continue // what a crash left half written
		}
		m, err := s.read(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // delivered meanwhile
		}
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b ledger.Message) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.ID.String(), b.ID.String()))
	})
	return out, bad
}

func (s shelf) read(name string) (m ledger.Message, err error) {
	path := filepath.Join(string(s)+asideExt, name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, err
	case err != nil:
		return m, fmt.Errorf("%s: %w: %w", path, ledger.ErrUnreadable, err)
	}
	m.Requeued = filepath.Ext(name) == requeuedExt
	return m, nil
}

// Requeue implements ledger.Book.
func (s shelf) Requeue(ctx context.Context, ids ...uuid.UUID) (int, error) {
	all, err := s.Aside(ctx)
	if errors.Is(err, ledger.ErrUnreadable) {
		err = nil // what can be read goes on
	}
	n := 0
	for i := range all {
		if err != nil || len(ids) > 0 && !slices.Contains(ids, all[i].ID) {
			continue
		}
		if n++; !all[i].Requeued {
			err = os.Rename(s.file(all[i].ID)+refusedExt, s.file(all[i].ID)+requeuedExt)
		}
	}
	return n, err
}

// Drop implements ledger.Book.
func (s shelf) Drop(_ context.Context, id uuid.UUID) error {
	return errors.Join(remove(s.file(id)+requeuedExt), remove(s.file(id)+refusedExt))
}

func (s shelf) file(id uuid.UUID) string { return filepath.Join(string(s)+asideExt, id.String()) }

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace writes a file as a whole, durably.
func replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Replace(path, 0o600, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}
