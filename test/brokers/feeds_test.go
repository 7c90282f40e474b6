package brokers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/feed"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	database "github.com/waybill/waybill/test/postgres"
)

// accounts spread the events of a feed's tests.
const accounts = 5

// record appends n events of five accounts and returns them.
func record(t *testing.T, l *ledger.Log, n int) []events.Event {
	t.Helper()
	drafts := make([]events.Draft, n)
	for i := range drafts {
		drafts[i] = events.Draft{Header: events.Header{ID: uuid.Must(uuid.NewV7()), ObservedAt: events.Time(i + 1), Account: fmt.Sprint("a", i%accounts)},
			Data: &events.AccountRetired{Cause: "test"}}
	}
	evs, err := l.Append(t.Context(), drafts...)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

func memory(t *testing.T) *ledger.Log {
	l := ledger.Open(ledgertest.NewMemory())
	t.Cleanup(func() { l.Close() })
	return l
}

// relay runs a feed until stop.
func relay(t *testing.T, l *ledger.Log, o feed.Options) (stop func()) {
	t.Helper()
	if o.Book == nil {
		o.Book = feed.Files(t.TempDir()).Book("f")
	}
	o.Name, o.Writer, o.Backoff, o.Logger = "f", feed.Events(nil), 10*time.Millisecond, slog.New(slog.DiscardHandler)
	r, err := feed.Open(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// delivered is what a broker gives to a consumer.
type delivered struct {
	id, account, kind string
	body              []byte
}

// check compares deliveries with the events that were to be delivered:
// all of them, each as it is stored, in order for each account when repetitions
// are dropped by id.
func check(t *testing.T, got []delivered, want []events.Event) {
	t.Helper()
	seen := map[string]bool{}
	order := map[string][]string{}
	for _, d := range got {
		if !seen[d.id] {
			order[d.account] = append(order[d.account], d.id)
		}
		seen[d.id] = true
	}
	expect := map[string][]string{}
	for i := range want {
		e := &want[i]
		expect[e.Account] = append(expect[e.Account], e.ID.String())
		k := slices.IndexFunc(got, func(d delivered) bool { return d.id == e.ID.String() })
		if k < 0 || got[k].kind != "account.retired" || !bytes.Equal(got[k].body, events.AppendJSON(nil, e)) {
			t.Fatalf("event %d was not delivered as it is", e.Position)
		}
	}
	for account, ids := range expect {
		if !slices.Equal(order[account], ids) {
			t.Errorf("account %s: %d of %d events, or another order", account, len(order[account]), len(ids))
		}
	}
}

// stored reads a JetStream stream from its beginning.
func stored(t *testing.T, n *NATS, subject string, want int) []delivered {
	t.Helper()
	conn, err := nats.Connect(n.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	var sub *nats.Subscription
	until(t, "the stream is made", func() bool {
		sub, err = js.SubscribeSync(subject, nats.OrderedConsumer())
		return err == nil
	})
	var out []delivered
	for len(out) < want {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(out), want, err)
		}
		out = append(out, delivered{id: m.Header.Get(nats.MsgIdHdr), account: m.Header.Get(feed.MetaAccount), kind: m.Header.Get(feed.MetaType), body: m.Data})
	}
	info, err := js.StreamInfo("WAYBILL")
	if err != nil || info.State.Msgs != uint64(want) {
		t.Errorf("the stream holds %d messages for %d events: %v", info.State.Msgs, want, err)
	}
	return out
}

func TestJetStreamGetsEveryEventOnceInOrderAlsoOverACrashAndARestartOfTheServer(t *testing.T) {
	n, l := StartNATS(t), memory(t)
	book := feed.Files(t.TempDir()).Book("f")
	o := func() feed.Options {
		p, err := feed.NewJetStream(n.URL(), "WAYBILL", "waybill.events")
		if err != nil {
			t.Fatal(err)
		}
		return feed.Options{Topic: "waybill.events", Publisher: p, Book: &forgetful{Book: book}, Batch: 64}
	}
	stop := relay(t, l, o())
	want := record(t, l, 300)
	stop()
	stop = relay(t, l, o()) // a crash: the place was never kept, and all is sent again
	want = append(want, record(t, l, 100)...)
	stored(t, n, "waybill.events", 400)
	n.Stop()
	want = append(want, record(t, l, 100)...)
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	check(t, stored(t, n, "waybill.events", 500), want)
	stop()
}

// forgetful is a book that never keeps a place beyond the first.
type forgetful struct{ ledger.Book }

func (*forgetful) Keep(context.Context, events.Position) error { return nil }

func TestAMessageThatNATSNeverTakesIsPutAside(t *testing.T) {
	n, l := StartNATS(t), memory(t)
	p, err := feed.NewJetStream(n.URL(), "WAYBILL", "waybill.events")
	if err != nil {
		t.Fatal(err)
	}
	book := feed.Files(t.TempDir()).Book("f")
	stop := relay(t, l, feed.Options{Topic: "waybill.events", Publisher: p, Book: book})
	defer stop()
	large := events.Draft{Header: events.Header{ID: uuid.Must(uuid.NewV7())}, Data: &events.AccountRetired{Cause: strings.Repeat("x", 2<<20)}}
	if _, err := l.Append(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	want := record(t, l, 1)
	check(t, stored(t, n, "waybill.events", 1), want)
	aside, err := book.Aside(t.Context())
	if err != nil || len(aside) != 1 || aside[0].ID != large.ID {
		t.Errorf("aside: %d, %v", len(aside), err)
	}
}

// kafka is a cluster in this process.
func kafka(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(4, "waybill"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func consumed(t *testing.T, c *kfake.Cluster, enough func([]delivered) bool) []delivered {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("waybill"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out []delivered
	partitions := map[string]int32{}
	for !enough(out) {
		fetches := cl.PollFetches(ctx)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Fatalf("only %d records", len(out))
		}
		fetches.EachRecord(func(r *kgo.Record) {
			d := delivered{account: string(r.Key), body: r.Value}
			for _, h := range r.Headers {
				switch h.Key {
				case feed.HeaderUUID:
					d.id = string(h.Value)
				case feed.MetaType:
					d.kind = string(h.Value)
				}
			}
			if p, known := partitions[d.account]; known && p != r.Partition {
				t.Errorf("account %s is in partitions %d and %d", d.account, p, r.Partition)
			}
			partitions[d.account] = r.Partition
			out = append(out, d)
		})
	}
	return out
}

func distinct(n int) func([]delivered) bool {
	return func(got []delivered) bool {
		ids := map[string]bool{}
		for _, d := range got {
			ids[d.id] = true
		}
		return len(ids) >= n
	}
}

func TestKafkaGetsEveryEventAndOnePartitionHasAnAccountInOrder(t *testing.T) {
	c, l := kafka(t), memory(t)
	p, err := feed.NewKafka(c.ListenAddrs())
	if err != nil {
		t.Fatal(err)
	}
	stop := relay(t, l, feed.Options{Topic: "waybill", Publisher: p, Batch: 64})
	defer stop()
	want := record(t, l, 500)
	check(t, consumed(t, c, distinct(500)), want)
}

// TestTheFeedOfASharedLedgerIsDeliveredByOneReplicaAndTakenOver has three
// replicas of which the one that delivers ends, twice.
func TestTheFeedOfASharedLedgerIsDeliveredByOneReplicaAndTakenOver(t *testing.T) {
	c, schema := kafka(t), database.Schema()
	var logs []*ledger.Log
	var stops []func()
	for range 3 {
		s, err := postgres.Open(t.Context(), postgres.Options{URL: database.URL(t), Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		l := ledger.Open(s)
		t.Cleanup(func() { l.Close() })
		p, err := feed.NewKafka(c.ListenAddrs())
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
		stops = append(stops, relay(t, l, feed.Options{Topic: "waybill", Publisher: p, Book: l.Books().Book("f"), Batch: 64}))
	}
	var want []events.Event
	for i := range stops {
		want = append(want, record(t, logs[i], 100)...)
		if got := consumed(t, c, distinct(100*(i+1))); len(got) != len(want) {
			t.Errorf("after %d replicas ended there are %d records of %d events", i, len(got), len(want))
		}
		stops[i]()
	}
	check(t, consumed(t, c, distinct(300)), want)
}

// TestAFeedStopsAtOnceWhateverItsBrokerDoes has brokers that are not there, and
// one that takes connections and says nothing.
func TestAFeedStopsAtOnceWhateverItsBrokerDoes(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	frozen := StartNATS(t)
	for name, open := range map[string]func() (feed.Options, error){
		"no Kafka": func() (feed.Options, error) {
			p, err := feed.NewKafka([]string{"127.0.0.1:1"})
			return feed.Options{Topic: "waybill", Publisher: p}, err
		},
		"a mute Kafka": func() (feed.Options, error) {
			p, err := feed.NewKafka([]string{mute.Addr().String()})
			return feed.Options{Topic: "waybill", Publisher: p}, err
		},
		"no NATS": func() (feed.Options, error) {
			p, err := feed.NewJetStream("nats://127.0.0.1:1", "WAYBILL", "s")
			return feed.Options{Topic: "s", Publisher: p}, err
		},
		"NATS without a stream": func() (feed.Options, error) {
			p, err := feed.NewJetStream(frozen.URL(), "", "nobody.takes.this")
			return feed.Options{Topic: "nobody.takes.this", Publisher: p}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := open()
			if err != nil {
				t.Fatal(err)
			}
			tried := make(chan struct{}, 64)
			o.Publisher = &told{Publisher: o.Publisher, tried: tried}
			l := memory(t)
			stop := relay(t, l, o)
			record(t, l, 3)
			<-tried
			begun := time.Now()
			stop()
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// told says that something is to be published.
type told struct {
	message.Publisher
	tried chan struct{}
}

func (p *told) Publish(topic string, msgs ...*message.Message) error {
	select {
	case p.tried <- struct{}{}:
	default:
	}
	return p.Publisher.Publish(topic, msgs...)
}

// TestABrokerThatRefusesForAWhileLosesNothing cuts off two produce requests.
func TestABrokerThatRefusesForAWhileLosesNothing(t *testing.T) {
	c, l := kafka(t), memory(t)
	n := 0
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if n++; n%2 == 1 && n < 4 {
			return nil, errors.New("cut off"), true
		}
		return nil, nil, false
	})
	p, err := feed.NewKafka(c.ListenAddrs())
	if err != nil {
		t.Fatal(err)
	}
	stop := relay(t, l, feed.Options{Topic: "waybill", Publisher: p, Batch: 16})
	defer stop()
	want := record(t, l, 200)
	check(t, consumed(t, c, distinct(200)), want)
}
