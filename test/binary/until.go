package binary

import (
	"testing"
	"time"
)

// Patience bounds what a foreign process may take on a busy machine.
const Patience = 2 * time.Minute

// Until polls for what no foreign process signals, and fails the test when it
// does not come.
func Until(t testing.TB, what string, fn func() bool) {
	t.Helper()
	if !Within(Patience, fn) {
		t.Fatalf("%s: not within %s", what, Patience)
	}
}

// Within polls for what no foreign process signals, and says whether it came.
func Within(d time.Duration, fn func() bool) bool {
	for end := time.Now().Add(d); !fn(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
