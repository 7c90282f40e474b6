package checkpoint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/waybill/waybill/ledger/durable"
)

// keyName is what signatures are made as.
const keyName = "waybill"

// Key signs checkpoints. The private half is in a file that only its owner
// reads, outside of the database: whoever holds it could sign a rewrite.
type Key struct {
	note.Signer
	public string
}

// Verifier is the public half as one line of text, for whoever verifies.
func (k *Key) Verifier() string { return k.public }

// OpenKey reads the key in a file, and makes one where there is none.
func OpenKey(path string) (*Key, error) {
	k, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	private, public, err := note.GenerateKey(rand.Reader, keyName)
	if err != nil {
		return nil, fmt.Errorf("make checkpoint key: %w", err)
	}
	if err := writeKey(path, private+"\n"+public+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make checkpoint key: %w", err)
	}
	return ReadKey(path) // another process may have been faster
}

// writeKey writes a whole file or none, and never over another.
func writeKey(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.Create(path, 0o600, func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
}

// ReadKey reads the key in a file. One that others may read is refused.
func ReadKey(path string) (*Key, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint key: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("checkpoint key %s: others may read it (mode %04o); chmod 600 it", path, fi.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint key: %w", err)
	}
	private, public, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	s, err1 := note.NewSigner(private)
	v, err2 := note.NewVerifier(public)
	if err1 != nil || err2 != nil || s.KeyHash() != v.KeyHash() || s.Name() != v.Name() {
		return nil, fmt.Errorf("checkpoint key %s: it does not hold a private key and, in the next line, its public one", path)
	}
	return &Key{Signer: s, public: public}, nil
}
