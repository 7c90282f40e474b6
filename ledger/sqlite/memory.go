package sqlite

import "modernc.org/libc"

// warm keeps memory mapped that SQLite's allocator would give back to the kernel
// and ask for again: blocks of a size share a page, and the last one freed on a
// page unmaps it. Where the blocks in use just fill their pages, the next split of a
// b-tree, in every commit anew, maps and clears a page: up to a quarter of what a
// commit costs.
type warm struct {
	tls    *libc.TLS
	blocks []uintptr // one of every size
	ends   []uintptr // the first and the last of those that renew took
	taken  []uintptr
	age    int // commits since
}

const (
	sharedPage  = 64 << 10       // of the allocator
	smallest    = 16             // block on such a page
	largest     = sharedPage / 4 // what is larger has a mapping of its own
	renewed     = sharedPage / 32
	renewedEach = 64 // commits
)

func newWarm() *warm {
	w := &warm{tls: libc.NewTLS()}
	for size := libc.Tsize_t(smallest); size <= largest; size *= 2 {
		w.blocks = append(w.blocks, libc.Xmalloc(w.tls, size))
	}
	return w
}

// commit counts commits: how much is in use changes slowly.
func (w *warm) commit() {
	if w.age%renewedEach == 0 {
		w.renew()
	}
	w.age++
}

// renew makes sure that there are free blocks on pages which stay: of each of the
// sizes that matter it takes one more than fit on a page, and gives back all but
// the first and the last.
func (w *warm) renew() {
	before := w.ends
	w.ends = make([]uintptr, 0, len(before))
	for size := libc.Tsize_t(renewed); size <= largest; size *= 2 {
		w.taken = w.taken[:0]
		for range sharedPage / size {
			w.taken = append(w.taken, libc.Xmalloc(w.tls, size))
		}
		last := len(w.taken) - 1
		w.ends = append(w.ends, w.taken[0], w.taken[last])
		w.give(w.taken[1:last])
	}
	w.give(before)
}

func (w *warm) give(blocks []uintptr) {
	for _, b := range blocks {
		libc.Xfree(w.tls, b)
	}
}

func (w *warm) free() {
	w.give(w.ends)
	w.give(w.blocks)
	w.tls.Close()
}
