// Command bench compares the built Waybill with a bare httputil.ReverseProxy in
// one run on loopback: same scripted upstream, same load, interleaved rounds,
// medians of per-round ratios. Upstream, proxy and gateways are processes of
// their own, so that /proc tells their CPU and memory apart from the load's.
//
//	BENCH_SECONDS  seconds of load per cell [2]
//	BENCH_ROUNDS   rounds [7]
//	BENCH_OUT      where the JSON goes [test/bench/out/bench.json]
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		if err := role(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := bench(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// role runs one of the processes that the bench starts.
func role(args []string) error {
	switch args[0] {
	case "upstream":
		return serveUpstream()
	case "proxy":
		return serveProxy(args[1])
	}
	return fmt.Errorf("unknown role %q; run without arguments", args[0])
}

func bench() error {
	seconds, rounds := envInt("BENCH_SECONDS", 2), envInt("BENCH_ROUNDS", 7)
	world, err := start()
	if err != nil {
		return err
	}
	defer world.stop()
	run := newRun(world, time.Duration(seconds)*time.Second)
	for i := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, rounds)
		if err := run.round(); err != nil {
			return err
		}
	}
	report := run.report()
	report.print(os.Stdout)
	out := os.Getenv("BENCH_OUT")
	if out == "" {
		out = "test/bench/out/bench.json"
	}
	return report.write(out)
}

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return def
}
