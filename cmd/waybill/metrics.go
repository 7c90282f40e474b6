package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
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
	m.registry.MustRegister(viewGauges(e, l))
}

// handler serves the series to whoever has the admin or the metrics token, and
// on loopback to whoever asks by a loopback name: a page that has rebound its
// name to this machine asks by its own.
func (m *metrics) handler(e config.Environment) http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	open := config.Loopback(e.AdminListen)
	operator, scraper := admin.NewGuard(e.AdminToken.Reveal(), nil), admin.NewGuard(e.MetricsToken.Reveal(), nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := admin.Bearer(r)
		if open && config.Loopback(r.Host) || operator.Opens(token) || scraper.Opens(token) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send the admin or the metrics token as a bearer token", http.StatusUnauthorized)
	})
}
