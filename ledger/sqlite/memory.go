package sqlite

import "modernc.org/libc"

// warm holds one block of every size that SQLite's allocator keeps on shared
// pages. Without it the last block freed on such a page gives the page back to
// the kernel, and the next split of a b-tree, in every commit anew, maps and
// clears another one: an eighth of what a commit costs.
type warm struct {
	tls    *libc.TLS
	blocks []uintptr
}

func newWarm() *warm {
	w := &warm{tls: libc.NewTLS()}
	const smallest, largest = 16, 16 << 10 // what is larger has a mapping of its own
	for size := libc.Tsize_t(smallest); size <= largest; size *= 2 {
		w.blocks = append(w.blocks, libc.Xmalloc(w.tls, size))
	}
	return w
}

func (w *warm) free() {
	for _, b := range w.blocks {
		libc.Xfree(w.tls, b)
	}
	w.tls.Close()
}
