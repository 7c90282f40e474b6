package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gaugeTime bounds what is asked of a store for a gauge.
const gaugeTime = time.Second

// series is a gauge as it is named.
type series struct {
	name, help string
	labels     []string
}

// gauges are series that are read off something when they are asked for. It
// implements prometheus.Collector.
type gauges struct {
	descs map[string]*prometheus.Desc
	read  func(tell tellGauge)
}

// tellGauge gives one value of a series, with the values of its labels.
type tellGauge func(name string, v float64, labels ...string)

func newGauges(read func(tell tellGauge), all ...series) *gauges {
	g := &gauges{descs: make(map[string]*prometheus.Desc, len(all)), read: read}
	for _, s := range all {
		g.descs[s.name] = prometheus.NewDesc(s.name, s.help, s.labels, nil)
	}
	return g
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	g.read(func(name string, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(g.descs[name], prometheus.GaugeValue, v, labels...)
	})
}

// oneIf is 1 for yes and 0 for no.
func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
