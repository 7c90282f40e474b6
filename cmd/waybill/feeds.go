package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybill/waybill/ledger/feed"
)

const (
	// feedAttempts is how often a webhook is tried before an event is put aside.
	feedAttempts = 8
	// feedBackoff is the first rest of a webhook that failed.
	feedBackoff = time.Second
)

// openFeeds finds each consumer's place before the first request.
func (s *service) openFeeds(ctx context.Context) error {
	if len(s.config.Feeds) == 0 {
		return nil
	}
	dir, err := besideLedger(s.source.Env, "feeds")
	if err != nil {
		return usageError(err)
	}
	for _, f := range s.config.Feeds {
		o := feed.Options{
			Name: f.Name, Dir: dir, Publisher: feed.NewWebhook(f.URL.Reveal(), f.Secret.Reveal()),
			Attempts: feedAttempts, Backoff: feedBackoff, Logger: s.log,
		}
		for _, e := range f.Events {
			o.Select = append(o.Select, feed.Selector{Kind: e.Kind, Word: e.Word})
		}
		r, err := feed.Open(ctx, s.ledger, o)
		if err != nil {
			return ledgerError(err)
		}
		s.feeds = append(s.feeds, r)
	}
	s.metrics.registry.MustRegister(feedCollector(s.feeds))
	return nil
}

// runFeeds delivers until the background ends. A feed that cannot go on is an
// error in the log and a growing lag; requests are served all the same.
func (s *service) runFeeds() {
	for _, r := range s.feeds {
		s.background.Go(func() {
			if err := r.Run(s.life); err != nil {
				s.log.Error("a feed stopped", "error", err)
			}
		})
	}
}

// feedCollector reads the lag of each feed when it is asked for.
type feedCollector []*feed.Relay

func (feedCollector) desc() *prometheus.Desc {
	return prometheus.NewDesc("waybill_feed_lag_events", "Committed events that a feed's consumer is behind.", []string{"consumer"}, nil)
}

// Describe implements prometheus.Collector.
func (c feedCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc() }

// Collect implements prometheus.Collector.
func (c feedCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, r := range c {
		if lag, err := r.Lag(ctx); err == nil {
			ch <- prometheus.MustNewConstMetric(c.desc(), prometheus.GaugeValue, float64(lag), r.Name())
		}
	}
}
