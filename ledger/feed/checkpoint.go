package feed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
)

// checkpoint is the file that holds a consumer's place: one number. A place is
// no fact about the gateway, so it is no event; and a file next to the ledger
// lets a reader of the ledger stay a reader.
type checkpoint string

func checkpointIn(dir, name string) checkpoint {
	return checkpoint(filepath.Join(dir, name+".position"))
}

func (c checkpoint) load() (at events.Position, known bool, err error) {
	b, err := os.ReadFile(string(c))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", string(c), err)
	}
	return events.Position(n), true, nil
}

// save replaces the file as a whole, durably.
func (c checkpoint) save(at events.Position) error {
	if err := os.MkdirAll(filepath.Dir(string(c)), 0o700); err != nil {
		return err
	}
	f, err := os.Create(string(c) + ".new")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, uint64(at))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), string(c))
}
