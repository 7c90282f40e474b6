// Package arch holds the shape of the repository: which package may import
// which, and what the pure ones must never touch. Its rules are data; its
// tests read the tree with `go list` and prove that a planted import is found.
package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the import path that everything of ours begins with.
const Module = "github.com/waybill/waybill"

// Package is what `go list -json` says of one package.
type Package struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// layer allows the packages under a directory to import, of ours, only what
// is listed (and what lies under it). Packages of the same layer may import
// each other unless apart says otherwise.
type layer struct {
	dir   string
	may   []string // directories of ours
	never []string // directories of ours, or any import path, that stay out all the same
}

// pure are the imports that a fold and a decision must not know.
var pure = []string{"context", "net/http", "os", "log/slog", "log", "math/rand", "math/rand/v2", "crypto/rand"}

// stores are the packages that keep a ledger, and what is put over one.
var stores = []string{"ledger/sqlite", "ledger/postgres", "ledger/spool", "ledger/archive", "ledger/checkpoint", "ledger/snapshot", "ledger/natsbus"}

// everything of ours.
var everything = []string{"cmd", "events", "gateway", "ledger", "migrations", "projections", "test"}

// layers, the narrowest directory first: the first match decides.
func layers() []layer {
	return []layer{
		{dir: "events", never: pure},
		{dir: "projections", may: []string{"events"}, never: pure},
		{dir: "ledger/sqlite", may: []string{"events", "ledger", "migrations"}, never: []string{"projections"}},
		{dir: "ledger/postgres", may: []string{"events", "ledger", "migrations"}, never: []string{"projections"}},
		{dir: "ledger/spool", may: []string{"events", "ledger"}, never: []string{"projections", "ledger/*"}},
		{dir: "ledger/feed", may: []string{"events", "ledger/durable", "ledger"}, never: append([]string{"projections"}, stores...)},
		{dir: "ledger/natsbus", may: []string{"events", "ledger"}, never: []string{"projections", "ledger/*"}},
		{dir: "ledger", may: []string{"events"}, never: []string{"projections"}},
		{dir: "migrations"},
		{dir: "gateway/provider/providertest", may: []string{"events", "gateway/provider", "projections/routing"}},
		{dir: "gateway/provider/catalogue", may: []string{"events", "gateway/provider"}},
		{dir: "gateway/provider", may: []string{"events"}},
		{dir: "gateway/dialect", may: []string{"events", "gateway/body"}},
		{dir: "gateway/body"},
		{dir: "gateway/redact"},
		{dir: "gateway/quota", may: []string{"events", "gateway/provider", "gateway/redact"}, never: []string{"gateway/provider/catalogue"}},
		{dir: "gateway", may: []string{"events", "ledger", "projections", "gateway"},
			never: []string{"ledger/sqlite", "ledger/postgres", "ledger/natsbus", "ledger/ledgertest", "ledger/feed", "gateway/provider/*"}},
		{dir: "cmd", may: everything},
		{dir: "test", may: everything},
	}
}

// onlyIn names imports that one directory alone may have.
func onlyIn() map[string]string {
	return map[string]string{
		"github.com/ThreeDotsLabs/watermill": "ledger/feed",
		"github.com/jackc/pgx":               "ledger/postgres",
		"zombiezen.com/go/sqlite":            "ledger/sqlite",
		"github.com/nats-io":                 "ledger",
		"github.com/twmb/franz-go":           "ledger/feed",
		"github.com/spf13/cobra":             "cmd",
	}
}

// banned are package names that say nothing.
var banned = []string{"internal", "pkg", "util", "utils", "common", "types", "models", "helpers"}

// Check returns what is wrong with the imports of the given packages.
func Check(pkgs []Package) []string {
	var faults []string
	for _, p := range pkgs {
		dir, ok := ours(p.ImportPath)
		if !ok {
			continue
		}
		faults = append(faults, checkName(dir)...)
		l, ok := layerOf(dir)
		if !ok {
			faults = append(faults, dir+": no rule in test/arch says what this directory may import")
			continue
		}
		for _, imp := range p.Imports {
			faults = append(faults, checkImport(dir, l, imp)...)
		}
	}
	return faults
}

func checkName(dir string) []string {
	var faults []string
	for _, part := range strings.Split(dir, "/") {
		if slices.Contains(banned, part) {
			faults = append(faults, fmt.Sprintf("%s: a package named %q says nothing; name it for what it does", dir, part))
		}
	}
	return faults
}

func checkImport(dir string, l layer, imp string) []string {
	fault := func(why string) []string { return []string{fmt.Sprintf("%s imports %s: %s", dir, imp, why)} }
	for prefix, home := range onlyIn() {
		if under(imp, prefix) && !under(dir, home) && !under(dir, "test") {
			return fault("only " + home + " may")
		}
	}
	target, isOurs := ours(imp)
	for _, n := range l.never {
		if matches(target, n) {
			return fault(l.dir + " must not know it")
		}
	}
	if !isOurs || inLayer(target, l) || slices.ContainsFunc(l.may, func(m string) bool { return under(target, m) }) {
		return nil
	}
	return fault(l.dir + " may import only " + strings.Join(append([]string{"itself"}, l.may...), ", "))
}

func inLayer(dir string, l layer) bool {
	of, ok := layerOf(dir)
	return ok && of.dir == l.dir
}

// matches reads "dir/*" as everything below dir, and "dir" as dir and below.
func matches(path, pattern string) bool {
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(path, below+"/")
	}
	return under(path, pattern)
}

func layerOf(dir string) (layer, bool) {
	for _, l := range layers() {
		if under(dir, l.dir) {
			return l, true
		}
	}
	return layer{}, false
}

// ours cuts the module's path off; ok is false, and the path whole, for others.
func ours(path string) (dir string, ok bool) {
	return strings.CutPrefix(path, Module+"/")
}

// under says whether path is prefix or lies below it.
func under(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
