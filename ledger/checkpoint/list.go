package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/ledger/durable"
)

// suffix of the files that notes are in.
const suffix = ".notes"

// fileOf is the file of a month's notes: they are only ever appended to.
func fileOf(dir string, at time.Time) string {
	return filepath.Join(dir, "checkpoints-"+at.UTC().Format("2006-01")+suffix)
}

// Append adds a note to the list in a directory and returns when it is
// durable.
func Append(dir string, msg []byte, at time.Time) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep checkpoint: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := fileOf(dir, at)
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(startOfLine(f), writeAll(f, msg), f.Sync(), f.Close())
	if err == nil && missing != nil {
		err = durable.Dir(dir)
	}
	return err
}

func writeAll(f *os.File, msg []byte) error {
	_, err := f.Write(msg)
	return err
}

// startOfLine ends a line that a crash left open.
func startOfLine(f *os.File) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], fi.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	return writeAll(f, []byte("\n"))
}

// Split cuts a list into its notes; what a crash left half written between
// them is dropped. Nothing is verified.
func Split(list []byte) (notes [][]byte) {
	var start int // of the note at hand
	var signed bool
	text := string(list)
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 { // half a line
			break
		}
		line := text[at : at+end]
		switch {
		case strings.HasPrefix(line, origin):
			if signed {
				notes = append(notes, list[start:at])
			}
			start, signed = at, false
		case strings.HasPrefix(line, "— "):
			signed = true
		}
		at += end + 1
		if at == len(text) && signed {
			notes = append(notes, list[start:at])
		}
	}
	return notes
}

// latest is the newest whole note in a directory, nil where there is none.
func latest(dir string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "checkpoints-*"+suffix))
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints: %w", err)
	}
	slices.Sort(files)
	for _, path := range slices.Backward(files) {
		list, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read checkpoints: %w", err)
		}
		if notes := Split(list); len(notes) > 0 {
			return notes[len(notes)-1], nil
		}
	}
	return nil, nil
}
