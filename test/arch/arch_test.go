package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// list asks `go list` for the whole module; overlay plants files that are not
// on disk, by path from the module's root.
func list(t *testing.T, overlay map[string]string) []Package {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-e", "-json=ImportPath,Dir,GoFiles,Imports"}
	if len(overlay) > 0 {
		args = append(args, "-overlay", plant(t, root, overlay))
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errs.String())
	}
	return decode(t, out)
}

func decode(t *testing.T, out []byte) []Package {
	t.Helper()
	var pkgs []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func plant(t *testing.T, root string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, src := range files {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		write(t, file, []byte(src))
		replace[filepath.Join(root, path)] = file
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, b)
	return file
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheTreeKeepsItsShape(t *testing.T) {
	pkgs := list(t, nil)
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	for _, fault := range Check(pkgs) {
		t.Error(fault)
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	faults, err := CheckClock(list(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

func TestAPlantedImportIsFound(t *testing.T) {
	rows := map[string]struct{ path, imp string }{
		"a fold that knows HTTP":                  {"projections/admission/planted.go", "net/http"},
		"a fold that knows randomness":            {"projections/routing/planted.go", "math/rand"},
		"events that know contexts":               {"events/planted.go", "context"},
		"events that know a projection":           {"events/planted.go", Module + "/projections"},
		"a projection that knows the ledger":      {"projections/pins/planted.go", Module + "/ledger"},
		"a ledger that knows a projection":        {"ledger/planted.go", Module + "/projections/admission"},
		"a gateway that knows a store":            {"gateway/engine/planted.go", "zombiezen.com/go/sqlite"},
		"a gateway that knows the provider table": {"gateway/engine/planted.go", Module + "/gateway/provider/catalogue"},
		"a provider that knows the engine":        {"gateway/provider/planted.go", Module + "/gateway/engine"},
		"a dialect that knows a provider":         {"gateway/dialect/planted.go", Module + "/gateway/provider"},
		"Watermill outside the feed":              {"ledger/planted.go", "github.com/ThreeDotsLabs/watermill/message"},
		"a feed that knows a store":               {"ledger/feed/planted.go", Module + "/ledger/sqlite"},
		"a package named util":                    {"gateway/util/planted.go", "fmt"},
		"a directory that no rule speaks of":      {"somewhere/planted.go", "fmt"},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			pkg := filepath.Base(filepath.Dir(r.path))
			src := "package " + pkg + "\n\nimport _ \"" + r.imp + "\"\n"
			faults := Check(list(t, map[string]string{r.path: src}))
			if !strings.Contains(strings.Join(faults, "\n"), filepath.Dir(r.path)) {
				t.Fatalf("%s in %s went unnoticed; found %q", r.imp, r.path, faults)
			}
		})
	}
}

func TestAPlantedClockIsFound(t *testing.T) {
	faults, err := clockReads("planted.go", "package p\n\nimport \"time\"\n\nfunc f() time.Time { return time.Now() }\n")
	if err != nil || len(faults) != 1 {
		t.Fatalf("faults %q, err %v", faults, err)
	}
}
