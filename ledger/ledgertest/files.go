package ledgertest

import (
	"os"
	"testing"
)

// Edit writes a file anew as somebody might who has no business there; a nil
// change removes it.
func Edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil && change == nil {
		err = os.Remove(path)
	} else if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
