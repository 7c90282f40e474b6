package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka publishes to a topic. A message is taken when all replicas in sync have
// it. Its key is the account, else the request, so that a partition has the
// events of an account in order; its headers are the metadata and its id.
type Kafka struct{ client *kgo.Client }

var _ message.Publisher = (*Kafka)(nil)

// HeaderUUID is the header of a record that tells repetitions.
const HeaderUUID = "id"

// NewKafka prepares a producer; it connects when it publishes.
func NewKafka(brokers []string) (*Kafka, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ClientID("waybill"),
		kgo.RecordDeliveryTimeout(30*time.Second), kgo.ProducerLinger(0))
	if err != nil {
		return nil, fmt.Errorf("prepare Kafka: %w", err)
	}
	return &Kafka{client: c}, nil
}

// Publish implements message.Publisher. It waits for the brokers, or for the
// end of the first message's context.
func (k *Kafka) Publish(topic string, msgs ...*message.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	done := make(chan error, len(msgs))
	for _, m := range msgs {
		k.client.Produce(m.Context(), record(topic, m), func(_ *kgo.Record, err error) { done <- err })
	}
	return collect(msgs[0].Context(), done, len(msgs))
}

// collect returns the first error of n.
func collect(ctx context.Context, done <-chan error, n int) (first error) {
	for range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-done:
			if first == nil {
				first = err
			}
		}
	}
	return refusal(first, kerr.MessageTooLarge, kerr.InvalidRecord)
}

func record(topic string, m *message.Message) *kgo.Record {
	r := &kgo.Record{Topic: topic, Key: []byte(m.Metadata.Get(MetaAccount)), Value: m.Payload, Headers: []kgo.RecordHeader{{Key: HeaderUUID, Value: []byte(m.UUID)}}}
	if len(r.Key) == 0 {
		r.Key = []byte(m.Metadata.Get(MetaRequest))
	}
	for _, name := range []string{MetaType, MetaPosition, MetaAccount, MetaRequest} {
		if v := m.Metadata.Get(name); v != "" {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(v)})
		}
	}
	return r
}

// Close implements message.Publisher.
func (k *Kafka) Close() error {
	k.client.Close()
	return nil
}
