package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// maxModelLabels bounds the model names that have series of their own: clients
// choose them. The rest counts as "other".
const maxModelLabels = 200

// metrics are the stable series of the contract. Counters on the request path
// are resolved once and kept; what can be read off the views is read when it
// is asked for.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	attempts *prometheus.CounterVec
	duration prometheus.Histogram
	first    prometheus.Histogram
	appended prometheus.Histogram

	mu       sync.RWMutex
	served   map[requestLabels]prometheus.Counter
	outcomes map[attemptLabels]prometheus.Counter
	models   map[string]struct{}
}

type requestLabels struct{ dialect, model, outcome, code string }

type attemptLabels struct{ account, class string }

func newMetrics() *metrics {
	buckets := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "waybill_requests_total", Help: "Requests by what their clients got."}, []string{"dialect", "model", "outcome", "code"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "waybill_attempts_total", Help: "Attempts by what their answers meant."}, []string{"account", "class"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "waybill_request_duration_seconds", Help: "From arrival to the end of the answer.", Buckets: buckets}),
		first:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "waybill_first_byte_seconds", Help: "From arrival to the first meaningful frame.", Buckets: buckets}),
		appended: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "waybill_ledger_append_seconds", Help: "From a decision to its being durable and folded.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 5}}),
		served: map[requestLabels]prometheus.Counter{}, outcomes: map[attemptLabels]prometheus.Counter{}, models: map[string]struct{}{},
	}
	m.registry.MustRegister(m.requests, m.attempts, m.duration, m.first, m.appended)
	return m
}

// request counts a request at its end.
func (m *metrics) request(s *gateway.Summary) {
	m.counter(requestLabels{s.Dialect.String(), s.Model, s.Outcome, s.Code}).Inc()
	m.duration.Observe(s.Duration.Seconds())
	if s.FirstByte > 0 {
		m.first.Observe(s.FirstByte.Seconds())
	}
}

func (m *metrics) counter(l requestLabels) prometheus.Counter {
	m.mu.RLock()
	c := m.served[l]
	m.mu.RUnlock()
	if c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := l
	if _, known := m.models[l.model]; !known && (len(m.models) >= maxModelLabels || l.code == routing.CodeNoModel) {
		l.model = "other"
	} else {
		m.models[l.model] = struct{}{}
	}
	c = m.requests.WithLabelValues(l.dialect, l.model, l.outcome, l.code)
	if l.model != "other" || asked.model == "other" {
		m.served[asked] = c
	}
	return c
}

// Appended implements engine.Observer.
func (m *metrics) Appended(d time.Duration) { m.appended.Observe(d.Seconds()) }

// Ended implements engine.Observer.
func (m *metrics) Ended(account string, class events.Class) {
	l := attemptLabels{account, class.String()}
	m.mu.RLock()
	c := m.outcomes[l]
	m.mu.RUnlock()
	if c == nil {
		c = m.attempts.WithLabelValues(l.account, l.class)
		m.mu.Lock()
		m.outcomes[l] = c
		m.mu.Unlock()
	}
	c.Inc()
}

// watch adds what is read off the engine when it is asked for.
func (m *metrics) watch(e *engine.Engine, l *ledger.Log) {
	m.registry.MustRegister(&viewCollector{engine: e, log: l})
}

// handler serves the series to whoever has the admin or the metrics token, and
// on loopback to whoever asks by a loopback name: a page that has rebound its
// name to this machine asks by its own.
func (m *metrics) handler(e config.Environment) http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	open := config.Loopback(e.AdminListen)
	var tokens [][sha256.Size]byte
	for _, t := range []config.Secret{e.AdminToken, e.MetricsToken} {
		if !t.Empty() {
			tokens = append(tokens, sha256.Sum256([]byte(t.Reveal())))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open && config.Loopback(r.Host) || bears(r, tokens) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send the admin or the metrics token as a bearer token", http.StatusUnauthorized)
	})
}

// bears says whether a request bears one of the tokens.
func bears(r *http.Request, tokens [][sha256.Size]byte) bool {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if len(r.Header.Values("Authorization")) > 1 {
		return false
	}
	digest, ok := sha256.Sum256([]byte(bearer)), 0
	for _, t := range tokens {
		ok |= subtle.ConstantTimeCompare(digest[:], t[:])
	}
	return ok == 1 && bearer != ""
}

// viewCollector reads the views.
type viewCollector struct {
	engine *engine.Engine
	log    *ledger.Log
}

func (c *viewCollector) descs() (admitted, remaining, inFlight, position *prometheus.Desc, spool [3]*prometheus.Desc, lag, bus *prometheus.Desc) {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return d("waybill_account_admitted", "1 when the account may serve now, else 0 with the reason.", "account", "reason"),
		d("waybill_window_remaining_ratio", "What the newest reading says is left of a window.", "account", "window"),
		d("waybill_inflight", "Requests in flight.", "account"),
		d("waybill_ledger_position", "Committed position that the views stand at."),
		[3]*prometheus.Desc{
			d("waybill_spool_events", "Events that wait for the ledger."),
			d("waybill_spool_bytes", "What the outage spool takes."),
			d("waybill_spool_max_bytes", "What it may take (spool_max)."),
		},
		d("waybill_projection_lag_events", "Committed events that the views have not folded."),
		d("waybill_bus_connected", "1 while wake-ups from other replicas come, or none are needed; else followers look every 100 ms.")
}

// Describe implements prometheus.Collector: the series depend on the accounts.
func (c *viewCollector) Describe(ch chan<- *prometheus.Desc) {
	a, r, f, p, s, l, b := c.descs()
	for _, d := range []*prometheus.Desc{a, r, f, p, s[0], s[1], s[2], l, b} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *viewCollector) Collect(ch chan<- prometheus.Metric) {
	admitted, remaining, inFlight, position, spool, lag, bus := c.descs()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	statuses, at := c.statuses()
	for i := range statuses {
		st := &statuses[i]
		ok := 0.0
		if st.Verdict.Admitted {
			ok = 1
		}
		gauge(admitted, ok, st.Account.ID, st.Verdict.Reason.String())
		gauge(inFlight, float64(c.engine.InFlight(st.Account.No)), st.Account.ID)
		for _, w := range st.Windows {
			if left, known := remainingRatio(&w.Window); known {
				gauge(remaining, left, st.Account.ID, w.Name)
			}
		}
	}
	gauge(position, float64(at))
	outage, _ := c.engine.Outage()
	gauge(spool[0], float64(outage.Events))
	gauge(spool[1], float64(outage.Bytes))
	gauge(spool[2], float64(outage.Max))
	heard := 1.0
	if c.log.Deaf() != nil {
		heard = 0
	}
	gauge(bus, heard)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h, err := c.log.Head(ctx); err == nil {
		gauge(lag, float64(max(h.Position, at)-at))
	}
}

// remainingRatio is what a reading says is left, however it says it.
func remainingRatio(w *events.Window) (left float64, known bool) {
	switch {
	case w.Reached == events.Yes:
		return 0, true
	case w.RemainingPercent.Set:
		return float64(w.RemainingPercent.V) / float64(100*events.DecimalUnit), true
	case w.UsedPercent.Set:
		return 1 - float64(w.UsedPercent.V)/float64(100*events.DecimalUnit), true
	case w.Used.Set && w.Limit.Set && w.Limit.V > 0:
		return 1 - float64(w.Used.V)/float64(w.Limit.V), true
	}
	return 0, false
}

func (c *viewCollector) statuses() (out []admission.Status, at events.Position) {
	c.engine.View(func(v routing.View, p events.Position, now events.Time) {
		at = p
		doc, _ := v.Admission.Document()
		for _, a := range v.Admission.Roster() {
			if !a.Retired {
				out = append(out, admission.StatusOf(v.Admission, admission.Path{Account: a.No}, &doc.Policy, now))
			}
		}
	})
	return out, at
}
