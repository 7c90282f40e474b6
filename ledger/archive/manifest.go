package archive

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/durable"
)

// archiveMode is who may read an archive and what lies beside it.
const archiveMode = 0o644

// manifestFormat is the version of Manifest.
const manifestFormat = 1

// Manifest says what an archive file holds. It lies beside the file, and the
// store that the events left keeps its digest, so that file, manifest and chain
// hold each other.
type Manifest struct {
	Format     int             `json:"format"`
	Ledger     uuid.UUID       `json:"ledger"` // id of the ledger's first event
	First      events.Position `json:"first"`
	Last       events.Position `json:"last"`
	Events     uint64          `json:"events"`
	Before     events.Hash     `json:"before"`     // hash of the position before the first
	FirstHash  events.Hash     `json:"first_hash"` // of the first
	LastHash   events.Hash     `json:"last_hash"`
	Started    events.Time     `json:"first_recorded_at"`
	Ended      events.Time     `json:"last_recorded_at"`
	File       string          `json:"file"`
	Bytes      int64           `json:"bytes"`
	SHA256     events.Hash     `json:"sha256"`               // of the file
	Checkpoint string          `json:"checkpoint,omitempty"` // signed note of the last position
	Frames     []Frame         `json:"frames"`
}

// Frame is a run of lines that can be read without those before it: a zstd
// frame of its own.
type Frame struct {
	First   events.Position `json:"first"`
	Offset  int64           `json:"offset"`
	Before  events.Hash     `json:"before"`      // hash of the position before the first
	Started events.Time     `json:"recorded_at"` // of the first
}

// End is the archive's last position.
func (m *Manifest) End() ledger.Head {
	return ledger.Head{Position: m.Last, Hash: m.LastHash, RecordedAt: m.Ended}
}

// manifestOf is the path of the manifest of an archive file.
func manifestOf(path string) string { return strings.TrimSuffix(path, ".jsonl.zst") + ".json" }

// noteOf is the path of the signed checkpoint of an archive file.
func noteOf(path string) string { return strings.TrimSuffix(path, ".jsonl.zst") + ".note" }

// readManifest reads the manifest of an archive file, if it is the one with a
// digest: else errAnother.
func readManifest(path string, digest events.Hash) (m Manifest, err error) {
	b, err := os.ReadFile(manifestOf(path))
	if err != nil {
		return m, err
	}
	if sha256.Sum256(b) != digest {
		return m, fmt.Errorf("%s %w", manifestOf(path), errAnother)
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Format != manifestFormat {
		return m, fmt.Errorf("manifest %s: format %d: %w", manifestOf(path), m.Format, errors.Join(err, errManifest))
	}
	return m, m.check()
}

var errAnother = errors.New("is another manifest than the one that was written")

var errManifest = errors.New("this is no manifest of an archive that this binary reads")

// check finds what cannot be in a manifest that was written whole.
func (m *Manifest) check() error {
	bad := m.Last < m.First || m.Events != uint64(m.Last-m.First)+1 || len(m.Frames) == 0 || m.File != filepath.Base(m.File)
	next := m.First
	for i, f := range m.Frames {
		bad = bad || f.First < next || i == 0 && f.First != m.First || f.Offset >= m.Bytes || f.First > m.Last
		next = f.First + 1
	}
	if bad {
		return fmt.Errorf("manifest of %s: %w", m.File, errManifest)
	}
	return nil
}

// write puts the manifest beside the file and returns its digest.
func (m *Manifest) write(dir string) (events.Hash, error) {
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return events.Hash{}, err
	}
	b = append(b, '\n')
	path := manifestOf(filepath.Join(dir, m.File))
	err = durable.Replace(path, archiveMode, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
	return sha256.Sum256(b), err
}
