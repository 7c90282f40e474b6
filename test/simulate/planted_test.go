package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// plant is a fault that is written into a copy of one of the product's sources.
type plant struct {
	name, what, file, old, new string
}

// plants reads testdata/faults: what is wrong, the file, the old text, the new.
func plants(t *testing.T) []plant {
	t.Helper()
	files, err := filepath.Glob("testdata/faults/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d faults to plant, %v", len(files), err)
	}
	var out []plant
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(text), "-- old --\n")
		before, after, ok2 := strings.Cut(rest, "-- new --\n")
		what, file, ok3 := strings.Cut(strings.TrimSpace(head), "\nfile: ")
		if !ok || !ok2 || !ok3 {
			t.Fatalf("%s: want a sentence, file: PATH, -- old --, -- new --", f)
		}
		out = append(out, plant{strings.TrimSuffix(filepath.Base(f), ".txt"), what, file, before, after})
	}
	return out
}

// root is the module's directory.
const root = "../.."

// build compiles the simulation with the fault in it; the tree stays as it is.
func (p *plant) build(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, p.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), p.old); n != 1 {
		t.Fatalf("%s: %s holds the text that the fault replaces %d times, want once: rewrite testdata/faults/%s.txt", p.name, p.file, n, p.name)
	}
	dir := t.TempDir()
	faulty, overlay, bin := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulate.test")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: faulty}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(faulty, []byte(strings.Replace(string(text), p.old, p.new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", p.name, err, out)
	}
	return bin
}

var found = regexp.MustCompile(`seed (\d+), .*?: at step \d+: (.*)`)

// hunt runs worlds until one of them shows the fault.
func (p *plant) hunt(t *testing.T, bin string, first, limit int) (worlds int, law string) {
	t.Helper()
	cmd := exec.Command(bin, "-test.run", "TestEveryLawHoldsInEveryWorld", "-test.timeout", "10m")
	cmd.Env = append(os.Environ(), "SEED="+strconv.Itoa(first), "WAYBILL_WORLDS="+strconv.Itoa(limit), "WAYBILL_SHRINK=0")
	out, err := cmd.CombinedOutput()
	m := found.FindSubmatch(out)
	if err == nil || m == nil {
		if strings.Contains(string(out), "panic: ") { // an assertion of the product's own
			return limit, "panic"
		}
		t.Fatalf("%s (%s) was not found in %d worlds: %v\n%.2000s", p.name, p.what, limit, err, out)
	}
	seed, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return seed - first + 1, string(m[2])
}

// Each planted fault is found. Always two of them; WAYBILL_FAULTS=all all.
func TestPlantedFaultsAreFound(t *testing.T) {
	all := plants(t)
	often := map[string]bool{"trial-without-claim": true, "sweep-forgets-one": true}
	first, limit := number(t, "SEED", 1), number(t, "WAYBILL_WORLDS", 1000)
	for i := range all {
		p := &all[i]
		if os.Getenv("WAYBILL_FAULTS") != "all" && os.Getenv("WAYBILL_FAULTS") != p.name && !often[p.name] {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			began := time.Now()
			worlds, law := p.hunt(t, p.build(t), first, limit)
			line, err := json.Marshal(map[string]any{"prove": "planted", "fault": p.name, "seed": first + worlds - 1, "worlds": worlds,
				"found_as": law, "seconds": int(time.Since(began).Seconds())})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(string(line))
		})
	}
}

// A fault whose text is no longer in the product is told, not passed over.
func TestEveryPlantedFaultStillHasItsPlace(t *testing.T) {
	for _, p := range plants(t) {
		text, err := os.ReadFile(filepath.Join(root, p.file))
		if n := strings.Count(string(text), p.old); err != nil || n != 1 {
			t.Errorf("%s: %s holds the replaced text %d times, want once (%v)", p.name, p.file, n, err)
		}
	}
}
