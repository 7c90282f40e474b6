package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/waybill/waybill/events"
)

// Poison is what a consumer did not take: a file of JSON Lines. Only the relay
// adds to it. Requeue renames it, and the relay delivers the renamed file, so
// both work beside a running gateway.
type Poison struct{ queue, again string }

// PoisonIn names the poison queue of a consumer.
func PoisonIn(dir, name string) Poison {
	base := filepath.Join(dir, name)
	return Poison{queue: base + ".poison.jsonl", again: base + ".requeued.jsonl"}
}

// ErrRequeued says that what was requeued before is not delivered yet.
var ErrRequeued = errors.New("the events requeued before are not delivered yet")

// Refused is one line of the queue.
type Refused struct {
	Error string          `json:"error"` // of the last delivery
	Event json.RawMessage `json:"event"`
}

// List reads the queue, oldest first.
func (p Poison) List() ([]Refused, error) { return readRefused(p.queue) }

// Requeue has the relay deliver the queue again. It does nothing when the
// queue is empty.
func (p Poison) Requeue() error {
	if _, err := os.Stat(p.again); err == nil {
		return ErrRequeued
	}
	if err := os.Rename(p.queue, p.again); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p Poison) add(e *events.Event, why error) error {
	line, err := json.Marshal(Refused{Error: why.Error(), Event: events.AppendJSON(nil, e)})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.queue, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if cutOff(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// cutOff says that a crash left half a line at the end.
func cutOff(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// drain delivers what was requeued; a crash on the way delivers it all again.
func (p Poison) drain(deliver func(*events.Event) error) error {
	refused, err := readRefused(p.again)
	if err != nil || refused == nil {
		return err
	}
	for i := range refused {
		e, err := events.ParseJSON(refused[i].Event)
		if err != nil {
			return fmt.Errorf("read %s: %w", p.again, err)
		}
		if err := deliver(&e); err != nil {
			return err
		}
	}
	return os.Remove(p.again)
}

// readRefused reads the whole lines: a crash may have cut off the last.
func readRefused(path string) ([]Refused, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out := []Refused{}
	for line := range bytes.Lines(b) {
		var r Refused
		if !json.Valid(line) {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		out = append(out, r)
	}
	return out, err
}
