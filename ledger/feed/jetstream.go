package feed

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
)

// ackTime is how long a broker may take to acknowledge a message.
const ackTime = 10 * time.Second

// JetStream publishes to a subject of a NATS server. A message is taken when a
// stream has stored it; its id is its Nats-Msg-Id, so that the stream drops
// repetitions within its window for duplicates.
type JetStream struct {
	message.Publisher
	js     nats.JetStreamContext
	stream string
	topic  string
	ready  atomic.Bool // the stream is there
}

// NewJetStream connects to servers ("nats://host:4222", several separated by
// commas) and goes on trying when nobody is there. A stream that is named and
// not there is made for the subject; without a name one must be there.
func NewJetStream(servers, stream, subject string) (*JetStream, error) {
	conn, err := nats.Connect(servers, nats.Name("waybill feed"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Second), nats.ReconnectBufSize(-1), nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default prints
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", withoutURL(err))
	}
	js, err := conn.JetStream(nats.MaxWait(ackTime))
	if err != nil {
		return nil, err
	}
	p, err := wmnats.NewPublisherWithNatsConn(conn, wmnats.PublisherPublishConfig{
		Marshaler: &wmnats.NATSMarshaler{}, SubjectCalculator: wmnats.DefaultSubjectCalculator,
		JetStream: wmnats.JetStreamConfig{TrackMsgId: true, ConnectOptions: []nats.JSOpt{nats.MaxWait(ackTime)}},
	}, nil)
	if err != nil {
		return nil, err
	}
	return &JetStream{Publisher: p, js: js, stream: stream, topic: subject}, nil
}

// Publish implements message.Publisher. It waits for the stream, or for the end
// of the first message's context: the client's own patience is longer than a
// process that ends has.
func (j *JetStream) Publish(topic string, msgs ...*message.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- j.publish(topic, msgs) }()
	select {
	case err := <-done:
		return err
	case <-msgs[0].Context().Done():
		return msgs[0].Context().Err()
	}
}

func (j *JetStream) publish(topic string, msgs []*message.Message) error {
	if err := j.provide(); err != nil {
		return err
	}
	const tooLarge = 10054 // for the stream's own bound
	return refusal(j.Publisher.Publish(topic, msgs...), nats.ErrMaxPayload, &nats.APIError{ErrorCode: tooLarge})
}

// provide makes the stream if it is named and not there.
func (j *JetStream) provide() error {
	if j.ready.Load() || j.stream == "" {
		return nil
	}
	_, err := j.js.StreamInfo(j.stream)
	if errors.Is(err, nats.ErrStreamNotFound) {
		_, err = j.js.AddStream(&nats.StreamConfig{Name: j.stream, Subjects: []string{j.topic}})
	}
	j.ready.Store(err == nil)
	return err
}

// refusal marks an error that no further try can mend.
func refusal(err error, final ...error) error {
	for _, f := range final {
		if errors.Is(err, f) {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return err
}
