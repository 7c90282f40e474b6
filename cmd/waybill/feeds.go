package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/feed"
)

const (
	// feedAttempts is how often a webhook is tried before a message is put
	// aside. Brokers are tried until they are back: what fails there is the
	// broker, seldom the message.
	feedAttempts = 8
	// feedBackoff is the first rest after a failure.
	feedBackoff = time.Second
	// brokerBatch is how many messages a broker is given at once.
	brokerBatch = 256
)

// booksOf is where the consumers of a ledger keep their places: in the database
// that replicas share, else in files beside the ledger.
func booksOf(l *ledger.Log, e config.Environment) (ledger.Books, error) {
	if b := l.Books(); b != nil {
		return b, nil
	}
	dir, err := besideLedger(e, "feeds")
	if err != nil {
		return nil, usageError(err)
	}
	return feed.Files(dir), nil
}

// openFeeds finds each consumer's place before the first request.
func (s *service) openFeeds(ctx context.Context) error {
	if len(s.config.Feeds) == 0 {
		return nil
	}
	books, err := booksOf(s.ledger, s.source.Env)
	if err != nil {
		return err
	}
	for i := range s.config.Feeds {
		f := &s.config.Feeds[i]
		o := feed.Options{Name: f.Name, Book: books.Book(f.Name), Writer: s.writerOf(f), Backoff: feedBackoff, Logger: s.log}
		if err := connectFeed(&o, f); err != nil {
			return usageError(fmt.Errorf("feed %s: %w", f.Name, err))
		}
		r, err := feed.Open(ctx, s.ledger, o)
		if err != nil {
			return ledgerError(err)
		}
		s.feeds = append(s.feeds, r)
		s.tellers = append(s.tellers, teller{r, f.Alerts})
	}
	s.metrics.registry.MustRegister(feedGauges(s.feeds))
	return nil
}

// connectFeed gives a feed its publisher. None waits for the other side.
func connectFeed(o *feed.Options, f *config.Feed) error {
	switch {
	case f.NATS != nil:
		p, err := feed.NewJetStream(f.NATS.URL.Reveal(), f.NATS.Stream, f.NATS.Subject)
		o.Publisher, o.Topic, o.Batch = p, f.NATS.Subject, brokerBatch
		return err
	case f.Kafka != nil:
		p, err := feed.NewKafka(f.Kafka.Brokers)
		o.Publisher, o.Topic, o.Batch = p, f.Kafka.Topic, brokerBatch
		return err
	}
	o.Publisher, o.Attempts = feed.NewWebhook(f.URL.Reveal(), f.Secret.Reveal()), feedAttempts
	return nil
}

// runFeeds delivers until the background ends. A feed that cannot go on is an
// error in the log and a growing lag; requests are served all the same.
func (s *service) runFeeds() {
	for _, r := range s.feeds {
		s.background.Go(func() { r.Run(s.life) })
	}
	if len(s.feeds) > 0 {
		s.background.Go(func() { s.watchSelf(s.life) })
	}
}

// feedGauges are read off each feed.
func feedGauges(feeds []*feed.Relay) *gauges {
	const lag, poisoned = "waybill_feed_lag_events", "waybill_feed_poisoned"
	consumer := []string{"consumer"}
	return newGauges(func(tell tellGauge) {
		ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
		defer cancel()
		for _, r := range feeds {
			if n, err := r.Lag(ctx); err == nil {
				tell(lag, float64(n), r.Name())
			}
			if all, err := r.Book().Aside(ctx); err == nil || errors.Is(err, ledger.ErrUnreadable) {
				tell(poisoned, float64(len(all)), r.Name())
			}
		}
	},
		series{lag, "Committed events that a feed's consumer is behind.", consumer},
		series{poisoned, "Messages that a feed's consumer did not take.", consumer})
}
