package catalogue

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets `-run '(^|_|/)<id>(_|$)'` find the row of a signal. Ids of
// signals hold hyphens, which no Go function may have in its name, and -run
// looks at the names of functions first: where the pattern is that of one row,
// it is asked of the rows instead.
func TestMain(m *testing.M) {
	flag.Parse()
	run := flag.Lookup("test.run")
	for _, row := range rowIDs() {
		if run.Value.String() == "(^|_|/)"+row+"(_|$)" {
			if err := run.Value.Set("^TestSignals$/(^|_)" + row + "(_|$)"); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
