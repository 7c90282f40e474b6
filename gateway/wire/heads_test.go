package wire

import (
	"strings"
	"testing"
)

// TestHeadsTakeTrailersOutHoweverTheyAreCut reads answers in pieces of every size.
func TestHeadsTakeTrailersOutHoweverTheyAreCut(t *testing.T) {
	rows := map[string]struct{ in, out string }{
		"a declaration":            {"HTTP/1.1 200 OK\r\nTrailer: Content-Length\r\nA: b\r\n\r\nbody", "HTTP/1.1 200 OK\r\nTrailer:               \r\nA: b\r\n\r\nbody"},
		"any case, last, no space": {"HTTP/1.1 200 OK\r\nA: b\r\ntRAILER:x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\ntRAILER: \r\n\r\n"},
		"bare line feeds":          {"HTTP/1.1 200 OK\ntrailer:x\n\ntrailer:x\n", "HTTP/1.1 200 OK\ntrailer: \n\ntrailer:x\n"},
		"a line of the body":       {"HTTP/1.1 200 OK\r\nA: b\r\n\r\nTrailer: x\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\nTrailer: x\r\n"},
		"names that only begin so": {"HTTP/1.1 200 OK\r\nTrailers: x\r\nTrail: x\r\nX-Trailer: x\r\n\r\n", "HTTP/1.1 200 OK\r\nTrailers: x\r\nTrail: x\r\nX-Trailer: x\r\n\r\n"},
		"a value that says it":     {"HTTP/1.1 200 OK\r\nA: trailer: x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: trailer: x\r\n\r\n"},
		"behind an interim answer": {"HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTrailer: x\r\n\r\nTrailer: x", "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTrailer:  \r\n\r\nTrailer: x"},
		"no head at all":           {"4\r\nTrailer: x\r\n\r\n", "4\r\nTrailer: x\r\n\r\n"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(row.in); size++ {
				var h heads
				h.begin()
				got := []byte(row.in)
				for at := 0; at < len(got); at += size {
					h.pass(got[at:min(at+size, len(got))])
				}
				// The blanked value may hold its own leading space or not.
				if string(got) != row.out && strings.TrimRight(string(got), " ") != strings.TrimRight(row.out, " ") {
					t.Fatalf("in pieces of %d: %q, want %q", size, got, row.out)
				}
			}
		})
	}
}
