package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// cell is one combination that is measured in every round.
type cell struct {
	kind   kind
	conns  int
	target string
}

func (c cell) name() string { return fmt.Sprintf("%s/%d/%s", c.kind.name, c.conns, c.target) }

type run struct {
	world   *world
	d       time.Duration
	cells   []cell
	samples map[string][]sample
	syncs   []float64
	loads   []float64
}

func newRun(w *world, d time.Duration) *run {
	r := &run{world: w, d: d, samples: map[string][]sample{}}
	for _, k := range []kind{jsonKind, sseKind} {
		r.cells = append(r.cells, cell{k, 1, "direct"})
		for _, n := range []int{1, 16, 64} {
			for _, t := range []string{"proxy", "strict", "relaxed"} {
				r.cells = append(r.cells, cell{k, n, t})
			}
		}
	}
	for _, t := range []string{"proxy", "strict", "relaxed"} {
		r.cells = append(r.cells, cell{slowKind, 16, t})
	}
	return r
}

func (r *run) target(name string) *process {
	return map[string]*process{"direct": r.world.upstream, "proxy": r.world.proxy, "strict": r.world.strict, "relaxed": r.world.relaxed}[name]
}

// round measures every cell once; targets of one kind stand side by side.
func (r *run) round() error {
	sync, err := fdatasync(r.world.dir)
	if err != nil {
		return err
	}
	r.syncs = append(r.syncs, us(sync))
	r.loads = append(r.loads, loadAverage())
	for _, c := range r.cells {
		s, err := load(r.target(c.target), c.kind, c.conns, r.d)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		r.samples[c.name()] = append(r.samples[c.name()], s)
	}
	return nil
}

// median of f over the rounds of a cell.
func (r *run) median(name string, f func(sample) float64) float64 {
	var v []float64
	for _, s := range r.samples[name] {
		v = append(v, f(s))
	}
	return middle(v)
}

// ratio is the median over the rounds of f(a)/f(b), a and b in the same round.
func (r *run) ratio(a, b string, f func(sample) float64) float64 {
	var v []float64
	for i := range r.samples[a] {
		v = append(v, f(r.samples[a][i])/f(r.samples[b][i]))
	}
	return middle(v)
}

func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func perSecond(s sample) float64 { return s.PerSecond }
func p50(s sample) float64       { return s.P50 }
func p99(s sample) float64       { return s.P99 }
func cpu1000(s sample) float64   { return s.CPU1000 }
func resident(s sample) float64  { return s.RSS }

// row is one line of the table; the ratios are to the ReverseProxy.
type row struct {
	Cell       string  `json:"cell"`
	PerSecond  float64 `json:"per_second"`
	P50        float64 `json:"p50_us"`
	P99        float64 `json:"p99_us"`
	CPU1000    float64 `json:"cpu_ms_per_1000"`
	RSS        float64 `json:"rss_mb"`
	Throughput float64 `json:"throughput_ratio,omitempty"`
	CPURatio   float64 `json:"cpu_ratio,omitempty"`
	P99Ratio   float64 `json:"p99_ratio,omitempty"`
}

// figure is one thing that must hold, with its bound.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Bound float64 `json:"bound"`
	OK    bool    `json:"ok"`
}

// Report is what a run found.
type Report struct {
	Rounds    int      `json:"rounds"`
	Seconds   float64  `json:"seconds_per_cell"`
	Load      float64  `json:"load_average"`
	Fdatasync float64  `json:"fdatasync_us"`
	Rows      []row    `json:"rows"`
	Figures   []figure `json:"figures"`
}

func (r *run) report() *Report {
	rep := &Report{Rounds: len(r.syncs), Seconds: r.d.Seconds(), Load: middle(r.loads), Fdatasync: middle(r.syncs)}
	for _, c := range r.cells {
		n := c.name()
		line := row{Cell: n, PerSecond: r.median(n, perSecond), P50: r.median(n, p50), P99: r.median(n, p99), CPU1000: r.median(n, cpu1000), RSS: r.median(n, resident)}
		if c.target == "strict" || c.target == "relaxed" {
			base := cell{c.kind, c.conns, "proxy"}.name()
			line.Throughput, line.CPURatio, line.P99Ratio = r.ratio(n, base, perSecond), r.ratio(n, base, cpu1000), r.ratio(n, base, p99)
		}
		rep.Rows = append(rep.Rows, line)
	}
	rep.Figures = r.figures(rep)
	return rep
}

func (r *run) figures(rep *Report) []figure {
	var out []figure
	atMost := func(name string, v, bound float64) { out = append(out, figure{name, v, bound, v <= bound}) }
	atLeast := func(name string, v, bound float64) { out = append(out, figure{name, v, bound, v >= bound}) }
	throughput := map[string]float64{"json": 0.60, "sse": 0.55}
	if rep.Load < 3 {
		throughput = map[string]float64{"json": 0.75, "sse": 0.75}
	}
	tail := map[string]float64{"json": 2.5, "sse": 3}
	for _, k := range []string{"json", "sse"} {
		atMost(k+"/64 strict cpu ratio", r.ratio(k+"/64/strict", k+"/64/proxy", cpu1000), 1.6)
		atLeast(k+"/64 strict throughput ratio", r.ratio(k+"/64/strict", k+"/64/proxy", perSecond), throughput[k])
		atMost(k+"/64 strict p99 ratio", r.ratio(k+"/64/strict", k+"/64/proxy", p99), tail[k])
		atMost(k+"/64 strict rss MB", r.median(k+"/64/strict", resident), 100)
		atMost(k+"/1 added p50 relaxed over proxy", r.added(k), 1.5)
		atMost(k+"/1 strict over relaxed in fdatasync", r.syncsOver(k), 3)
	}
	atMost("slow/16 strict p50 over relaxed us", r.median("slow/16/strict", p50)-r.median("slow/16/relaxed", p50), 1000)
	return out
}

// added is what relaxed adds to the direct p50, over what the proxy adds.
func (r *run) added(k string) float64 {
	var v []float64
	for i := range r.syncs {
		direct := r.samples[k+"/1/direct"][i].P50
		v = append(v, (r.samples[k+"/1/relaxed"][i].P50-direct)/(r.samples[k+"/1/proxy"][i].P50-direct))
	}
	return middle(v)
}

// syncsOver is strict p50 less relaxed p50, in fdatasyncs of the same round.
func (r *run) syncsOver(k string) float64 {
	var v []float64
	for i, sync := range r.syncs {
		v = append(v, (r.samples[k+"/1/strict"][i].P50-r.samples[k+"/1/relaxed"][i].P50)/sync)
	}
	return middle(v)
}

func (rep *Report) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "cell\treq/s\tp50 us\tp99 us\tCPU ms/1000\tRSS MB\tthroughput x\tCPU x\tp99 x\t")
	for _, r := range rep.Rows {
		fmt.Fprintf(tw, "%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\t%s\t%s\t%s\t\n", r.Cell, r.PerSecond, r.P50, r.P99, r.CPU1000, r.RSS, opt(r.Throughput), opt(r.CPURatio), opt(r.P99Ratio))
	}
	tw.Flush()
	fmt.Fprintf(w, "\n%d rounds of %.0f s a cell, load average %.1f, fdatasync of 470 B %.0f us; ratios are medians of per-round ratios to the ReverseProxy\n\n", rep.Rounds, rep.Seconds, rep.Load, rep.Fdatasync)
	for _, f := range rep.Figures {
		mark := "ok  "
		if !f.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "%s  %-42s %8.2f  (bound %.2f)\n", mark, f.Name, f.Value, f.Bound)
	}
}

func opt(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
}

func (rep *Report) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
