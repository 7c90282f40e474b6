package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What is vendored is what its README says: an altered script would run in
// every operator's browser.
func TestVendoredFilesAreWhatTheySay(t *testing.T) {
	dir := "static/vendor"
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.* `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(readme), -1) {
		told[m[1]] = m[2]
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if name == "README.md" || filepath.Ext(name) == ".LICENSE" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != told[name] {
			t.Errorf("%s is %s, the README says %q", name, got, told[name])
		}
		delete(told, name)
	}
	for name := range told {
		t.Errorf("the README tells of %s, which is not there", name)
	}
}
