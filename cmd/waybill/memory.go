package main

import "runtime/debug"

// heapGrowth is how much the heap may grow, in percent of what lives, before
// garbage is collected. What lives in a gateway is bounded by its views, 10 to
// 20 MB, so memory is cheaper here than the tenth of the processor time that
// the runtime's own 100 costs under load (docs/performance.md).
const heapGrowth = 250

// spendMemory applies heapGrowth, unless whoever runs the process has chosen.
func spendMemory(env map[string]string) {
	if _, chosen := env["GOGC"]; chosen {
		return
	}
	debug.SetGCPercent(heapGrowth)
}
