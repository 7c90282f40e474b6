package feed_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/feed"
	"github.com/waybill/waybill/ledger/ledgertest"
)

var errDown = errors.New("down")

// sink is a publisher that remembers, and refuses while refuse says so.
type sink struct {
	mu     sync.Mutex
	got    []string // positions, in order
	msgs   []*message.Message
	times  []time.Time // of every try
	refuse func(try int) bool
	fail   error         // what it refuses with; nil: errDown
	held   chan struct{} // it waits for this
}

// hold makes it wait until release.
func (s *sink) hold() (release func()) {
	s.held = make(chan struct{})
	return func() { close(s.held) }
}

func (s *sink) Publish(_ string, msgs ...*message.Message) error {
	if s.held != nil {
		<-s.held
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range msgs {
		s.times = append(s.times, time.Now())
		if s.refuse != nil && s.refuse(len(s.times)) {
			return cmp.Or(s.fail, errDown)
		}
		s.got = append(s.got, m.Metadata.Get(feed.MetaPosition))
		s.msgs = append(s.msgs, m)
	}
	return nil
}

func (s *sink) Close() error { return nil }

func openLog(t *testing.T) *ledger.Log {
	t.Helper()
	l := ledger.Open(ledgertest.NewMemory())
	t.Cleanup(func() { l.Close() })
	return l
}

var writer, seq = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), uint64(0)

func add(t *testing.T, l *ledger.Log, payloads ...events.Payload) (out []events.Event) {
	t.Helper()
	for _, p := range payloads {
		seq++
		evs, err := l.Append(t.Context(), events.Draft{Data: p, Header: events.Header{
			ID: uuid.Must(uuid.NewV7()), Writer: writer, WriterSeq: seq, ObservedAt: 1, Account: "a", Request: writer}})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, evs...)
	}
	return out
}

func retired() events.Payload { return &events.AccountRetired{Cause: "test"} }

func options(dir string, p message.Publisher) feed.Options {
	return feed.Options{Name: "f", Book: feed.Files(dir).Book("f"), Writer: feed.Events(nil), Publisher: p, Backoff: time.Second, Logger: slog.New(slog.DiscardHandler)}
}

// start runs a relay in a bubble; stop ends it and waits.
func start(t *testing.T, l *ledger.Log, o feed.Options) (r *feed.Relay, stop func()) {
	t.Helper()
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
	return r, func() {
		cancel()
		<-ended
	}
}

func place(t *testing.T, dir, at string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "f.position"), []byte(at+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lagOf(t *testing.T, r *feed.Relay) uint64 {
	t.Helper()
	n, err := r.Lag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestANewConsumerBeginsAtTheHeadAndGetsEverythingAfterItInOrder(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{}
		add(t, l, retired(), retired())
		r, stop := start(t, l, options(dir, s))
		e := add(t, l, retired(), retired(), retired())[0]
		synctest.Wait()
		stop()
		if !slices.Equal(s.got, []string{"3", "4", "5"}) || lagOf(t, r) != 0 {
			t.Fatalf("got %v, lag %d", s.got, lagOf(t, r))
		}
		m := s.msgs[0]
		if m.UUID != e.ID.String() || m.Metadata[feed.MetaType] != "account.retired" || m.Metadata[feed.MetaAccount] != "a" ||
			m.Metadata[feed.MetaRequest] != writer.String() || !bytes.Equal(m.Payload, events.AppendJSON(nil, &e)) {
			t.Errorf("message %+v", m)
		}
	})
}

func TestAfterACrashEventsAreRepeatedAndNoneIsMissing(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{}
		_, stop := start(t, l, options(dir, s))
		add(t, l, retired(), retired(), retired())
		synctest.Wait()
		stop()
		place(t, dir, "1") // what a crash leaves: a place behind what was published
		add(t, l, retired())
		_, stop = start(t, l, options(dir, s))
		synctest.Wait()
		stop()
		if !slices.Equal(s.got, []string{"1", "2", "3", "2", "3", "4"}) {
			t.Fatalf("got %v", s.got)
		}
		_, stop = start(t, l, options(dir, s))
		synctest.Wait()
		stop()
		if len(s.got) != 6 {
			t.Errorf("a clean stop repeated: %v", s.got)
		}
	})
}

func TestAnUnreadablePlaceIsAnErrorNotABeginning(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "x")
	if _, err := feed.Open(t.Context(), openLog(t), options(dir, &sink{})); err == nil {
		t.Error("it was opened")
	}
}

func TestFailuresAreTriedAgainWithDoubledRestsAndHoldBackWhatFollows(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{refuse: func(try int) bool { return try <= 8 }}
		r, stop := start(t, l, options(dir, s))
		add(t, l, retired(), retired())
		synctest.Wait()
		if lagOf(t, r) != 2 {
			t.Errorf("lag %d while it fails", lagOf(t, r))
		}
		time.Sleep(5 * time.Minute) // of the bubble
		synctest.Wait()
		stop()
		var rests []time.Duration
		for i := 1; i < 9; i++ {
			rests = append(rests, s.times[i].Sub(s.times[i-1])/time.Second)
		}
		if !slices.Equal(rests, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}) || !slices.Equal(s.got, []string{"1", "2"}) {
			t.Errorf("rests %v, got %v", rests, s.got)
		}
	})
}

func TestStoppingInARestLosesNothing(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{refuse: func(try int) bool { return try == 1 }}
		_, stop := start(t, l, options(dir, s))
		add(t, l, retired())
		synctest.Wait()
		stop()
		_, stop = start(t, l, options(dir, s))
		synctest.Wait()
		stop()
		if !slices.Equal(s.got, []string{"1"}) {
			t.Errorf("got %v", s.got)
		}
	})
}

func TestWhatIsNeverTakenIsPutAsideAndCanBeRequeued(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{refuse: func(try int) bool { return try <= 6 }}
		o := options(dir, s)
		o.Attempts = 3
		_, stop := start(t, l, o)
		first := add(t, l, retired(), retired(), retired())[0]
		time.Sleep(time.Hour)
		synctest.Wait()
		aside, err := o.Book.Aside(t.Context())
		if err != nil || len(aside) != 2 || aside[0].Error != "down" || aside[0].Position != 1 || string(aside[0].Body) != string(events.AppendJSON(nil, &first)) {
			t.Fatalf("put aside %v, %v", aside, err)
		}
		if !s.has("3") {
			t.Error("the feed did not go on")
		}
		if n, err := o.Book.Requeue(t.Context(), aside[1].ID); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		time.Sleep(2 * time.Second) // no event is needed for it to be seen
		synctest.Wait()
		if n, err := o.Book.Requeue(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		stop()
		if !slices.Equal(s.got, []string{"3", "2", "1"}) || s.msgs[2].UUID != first.ID.String() || s.msgs[2].Metadata[feed.MetaAccount] != "a" {
			t.Errorf("got %v", s.got)
		}
		if aside, err := o.Book.Aside(t.Context()); err != nil || len(aside) != 0 {
			t.Errorf("left %v, %v", aside, err)
		}
	})
}

func TestAMessageThatIsRefusedForGoodIsPutAsideAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{fail: fmt.Errorf("too large: %w", feed.ErrRefused), refuse: func(try int) bool { return try == 1 }}
		o := options(dir, s)
		_, stop := start(t, l, o)
		add(t, l, retired(), retired())
		synctest.Wait()
		stop()
		if aside, err := o.Book.Aside(t.Context()); err != nil || len(aside) != 1 || !slices.Equal(s.got, []string{"2"}) {
			t.Errorf("aside %v, %v; got %v", aside, err, s.got)
		}
	})
}

func TestABatchThatFailsIsDeliveredOneByOne(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{refuse: func(try int) bool { return try == 3 }}
		o := options(dir, s)
		o.Batch = 10
		release := s.hold()
		_, stop := start(t, l, o)
		add(t, l, retired())
		synctest.Wait()
		add(t, l, retired(), retired(), retired())
		release()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		stop()
		if got := slices.Compact(slices.Sorted(slices.Values(s.got))); !slices.Equal(got, []string{"1", "2", "3", "4"}) || !slices.IsSorted(s.got[len(s.got)-3:]) {
			t.Errorf("got %v", s.got)
		}
	})
}

func TestWhatNoEventTellsOfNeedsNoLedger(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{refuse: func(try int) bool { return try == 1 }}
		r, stop := start(t, l, options(dir, s))
		r.Tell(feed.Letter{ID: writer, Type: "alert", Body: []byte(`{}`)})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		stop()
		if len(s.msgs) != 1 || s.msgs[0].UUID != writer.String() || s.msgs[0].Metadata[feed.MetaType] != "alert" {
			t.Errorf("told %v", s.msgs)
		}
	})
}

func TestBooksInFiles(t *testing.T) { ledgertest.RunBooks(t, feed.Files(t.TempDir())) }

func TestHalfAFileOfACrashIsNoMessage(t *testing.T) {
	dir := t.TempDir()
	b := feed.Files(dir).Book("f")
	if err := os.Mkdir(filepath.Join(dir, "f.aside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f.aside", "."+writer.String()+".json.part"), []byte(`{"error":"do`), 0o600); err != nil {
		t.Fatal(err)
	}
	if aside, err := b.Aside(t.Context()); err != nil || len(aside) != 0 {
		t.Errorf("aside %v, %v", aside, err)
	}
}

func TestSelectorsNarrowByKindAndWord(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{}
		o := options(dir, s)
		o.Writer = feed.Events{{Kind: events.KindRequestRefused, Word: "accounts_exhausted"}, {Kind: events.KindAttemptPaymentRequired},
			{Kind: events.KindAttemptRateLimited, Word: "window_exhausted"}}
		r, stop := start(t, l, o)
		add(t, l,
			retired(),
			&events.RequestRefused{Code: "saturated", Status: 429},
			&events.RequestRefused{Code: "accounts_exhausted", Status: 429},
			&events.AttemptRateLimited{Failure: events.Failure{Class: events.ClassRateLimited}},
			&events.AttemptRateLimited{Failure: events.Failure{Class: events.ClassWindowExhausted}},
			&events.AttemptPaymentRequired{Failure: events.Failure{Class: events.ClassCreditsExhausted}},
			retired())
		synctest.Wait()
		stop()
		if !slices.Equal(s.got, []string{"3", "5", "6"}) || lagOf(t, r) != 0 {
			t.Errorf("got %v, lag %d", s.got, lagOf(t, r))
		}
	})
}

func TestAWebhookSignsIsTriedAgainAndNeverLogsItsSecrets(t *testing.T) {
	type delivery struct {
		header http.Header
		body   []byte
	}
	statuses := []int{500, 302, 429, 204}
	got := make(chan delivery, len(statuses))
	n := 0 // deliveries come one after the other
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(statuses[n])
		n++
		got <- delivery{r.Header, body}
	}))
	defer server.Close()
	var log bytes.Buffer
	l, o := openLog(t), options(t.TempDir(), feed.NewWebhook(server.URL+"/token-in-path", "the-secret"))
	o.Backoff, o.Logger = time.Nanosecond, slog.New(slog.NewTextHandler(&log, nil))
	_, stop := start(t, l, o)
	e := add(t, l, retired())[0]
	for range statuses {
		d := <-got
		if d.header.Get(feed.HeaderID) != e.ID.String() || d.header.Get(feed.HeaderType) != "account.retired" ||
			d.header.Get(feed.HeaderSignature) != feed.Sign("the-secret", d.header.Get(feed.HeaderTimestamp), d.body) ||
			!bytes.Equal(d.body, events.AppendJSON(nil, &e)) {
			t.Errorf("delivery %v %s", d.header, d.body)
		}
	}
	stop()
	server.Close()
	m := message.NewMessage("id", nil)
	if err := o.Publisher.Publish("", m); err == nil || strings.Contains(err.Error(), "token-in-path") {
		t.Errorf("nobody there: %v", err)
	}
	if !strings.Contains(log.String(), "answered with 429") || strings.Contains(log.String(), "secret") || strings.Contains(log.String(), "token-in-path") {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestSignIsTheDocumentedHMAC(t *testing.T) {
	// printf '1700000000.{}' | openssl dgst -sha256 -hmac key
	const want = "sha256=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
	if got := feed.Sign("key", "1700000000", []byte("{}")); got != want {
		t.Errorf("got %s", got)
	}
}
