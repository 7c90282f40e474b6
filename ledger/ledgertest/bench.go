package ledgertest

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Bench reports what Measure finds, over the rounds of -benchtime, at least five.
func Bench(b *testing.B, open func(dir string) (ledger.Store, error)) {
	s, err := open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f := Measure(b, s, max(5, b.N))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(f.One, "one/raw")
	b.ReportMetric(f.Batch, "100/raw")
	b.ReportMetric(f.Group, "256/1")
	b.ReportMetric(f.CPU, "cpu-us/event")
	b.ReportMetric(f.Append, "append-us")
}

// Figures are medians over the rounds of a measurement.
type Figures struct {
	Append float64 `json:"append_us"`     // median latency of one durable append
	One    float64 `json:"append_of_raw"` // over that of a raw flush of the same bytes
	Batch  float64 `json:"batch_of_raw"`  // events per second in batches of 100 over raw ones
	CPU    float64 `json:"batch_cpu_us"`  // processor time of this process for an event of those
	Group  float64 `json:"group_of_one"`  // events per second of 256 appenders over one
}

// gatewayHeap is about what the views and connections of a gateway hold in memory.
// Next to nothing, what appends leave behind is collected fifty times a second,
// which no gateway does.
const gatewayHeap = 32 << 20

// Measure measures an empty store against what the disk can do at best, a
// preallocated file that the same bytes are written to and flushed, in turns
// within one run: on a busy machine only the ratios mean something.
func Measure(t testing.TB, s ledger.Store, rounds int) Figures {
	held := make([]byte, gatewayHeap)
	defer runtime.KeepAlive(held)
	m := &meter{t: t, store: s, log: ledger.Open(keptOpen{s}), maker: NewMaker()}
	defer m.log.Close()
	raw, err := newRaw(filepath.Join(t.TempDir(), "raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.close()
	var one, batch, group, cpu, latency []float64
	for range rounds {
		floor, own := m.rawLatency(raw), m.appendLatency()
		one, latency = append(one, own/floor), append(latency, own/1e3)
		rate, used := m.batchRate()
		batch, cpu = append(batch, rate/m.rawRate(raw)), append(cpu, used)
		group = append(group, m.appenders(256)/m.appenders(1))
	}
	return Figures{Append: median(latency), One: median(one), Batch: median(batch), CPU: median(cpu), Group: median(group)}
}

// Compare is how many events per second one store takes in batches of 100 over
// what another does, the median over rounds. In a round they take turns of a few
// batches, so that what else runs is in the way of both.
func Compare(t testing.TB, one, other ledger.Store, rounds int) float64 {
	const turns = 12
	a, b := &meter{t: t, store: one, maker: NewMaker()}, &meter{t: t, store: other, maker: NewMaker()}
	ratios := make([]float64, rounds)
	for i := range ratios {
		var took, others time.Duration
		for turn := range turns {
			if turn%2 == 0 {
				took += a.commit(a.batches(5))
				others += b.commit(b.batches(5))
			} else {
				others += b.commit(b.batches(5))
				took += a.commit(a.batches(5))
			}
		}
		ratios[i] = float64(others) / float64(took)
	}
	return median(ratios)
}

// keptOpen is a store that a log over it does not close.
type keptOpen struct{ ledger.Store }

func (keptOpen) Close() error { return nil }

// Unwrap gives the store's other parts away.
func (k keptOpen) Unwrap() ledger.Store { return k.Store }

type meter struct {
	t     testing.TB
	store ledger.Store
	log   *ledger.Log
	maker *Maker
	crowd []*Maker // of the appenders, which are the same in every round
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// eventBytes is the size of an event as a raw file would hold it.
func eventBytes(batch []events.Record) (n int) {
	for i := range batch {
		n += 160 + len(batch[i].Account) + len(batch[i].Model) + len(batch[i].Payload) // envelope and hash
	}
	return n
}

func (m *meter) rawLatency(r *raw) float64 {
	size := eventBytes(m.maker.Records(1))
	return m.latencies(200, func() error { return r.write(size) })
}

func (m *meter) appendLatency() float64 {
	return m.latencies(200, func() error {
		_, err := m.log.Append(context.Background(), m.maker.Drafts(1)...)
		return err
	})
}

// latencies is the median duration of n calls, in nanoseconds.
func (m *meter) latencies(n int, call func() error) float64 {
	took := make([]float64, n)
	for i := range took {
		start := time.Now()
		if err := call(); err != nil {
			m.t.Fatal(err)
		}
		took[i] = float64(time.Since(start))
	}
	return median(took)
}

func (m *meter) rawRate(r *raw) float64 {
	size := eventBytes(m.maker.Records(100))
	start := time.Now()
	for range 60 {
		if err := r.write(size); err != nil {
			m.t.Fatal(err)
		}
	}
	return 6000 / time.Since(start).Seconds()
}

// batchRate is events per second and processor microseconds per event.
func (m *meter) batchRate() (rate, cpu float64) {
	batches := m.batches(60)
	before := processorTime()
	took := m.commit(batches)
	used := processorTime() - before
	return 6000 / took.Seconds(), float64(used.Nanoseconds()) / 6000 / 1e3
}

// batches makes n batches of 100 events.
func (m *meter) batches(n int) [][]events.Record {
	all := make([][]events.Record, n)
	for i := range all {
		all[i] = m.maker.Records(100)
	}
	return all
}

// commit is how long the store takes for batches.
func (m *meter) commit(batches [][]events.Record) time.Duration {
	start := time.Now()
	for _, batch := range batches {
		if _, err := m.store.Commit(context.Background(), batch); err != nil {
			m.t.Fatal(err)
		}
	}
	return time.Since(start)
}

func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// appenders is events per second of n closed loops of one event each.
func (m *meter) appenders(n int) float64 {
	for len(m.crowd) < n {
		m.crowd = append(m.crowd, m.maker.Beside())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	done := make([]int, n)
	start := time.Now()
	var wg sync.WaitGroup
	for i, g := range m.crowd[:n] {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := m.log.Append(context.Background(), g.Drafts(1)...); err != nil {
					m.t.Error(err)
					return
				}
				done[i]++
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, d := range done {
		sum += d
	}
	return float64(sum) / time.Since(start).Seconds()
}

// raw is the disk without a database: one file, allocated ahead.
type raw struct {
	f   *os.File
	at  int64
	buf []byte
}

const rawSize = 16 << 20

func newRaw(path string) (*raw, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(make([]byte, rawSize)); err != nil {
		return nil, err
	}
	return &raw{f: f, buf: make([]byte, 1<<20)}, f.Sync()
}

func (r *raw) write(n int) error {
	if r.at+int64(n) > rawSize {
		r.at = 0
	}
	for i := range n / 8 {
		r.buf[8*i] = byte(r.at >> 8) // not the same page twice
	}
	if _, err := r.f.WriteAt(r.buf[:n], r.at); err != nil {
		return err
	}
	r.at += int64(n)
	return unix.Fdatasync(int(r.f.Fd()))
}

func (r *raw) close() { _ = r.f.Close() }
