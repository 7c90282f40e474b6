package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// sharedStore is a store in memory that several processes append to: it knows
// which writers are alive.
type sharedStore struct {
	*ledgertest.Memory
	mu   sync.Mutex
	held map[uuid.UUID]bool
}

func (s *sharedStore) Hold(_ context.Context, w uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[w] = true
	return nil
}

func (s *sharedStore) TakeOver(ctx context.Context, w uuid.UUID, fn func(context.Context) error) (bool, error) {
	s.mu.Lock()
	held := s.held[w]
	s.held[w] = true // whoever takes over holds the lock meanwhile
	s.mu.Unlock()
	if held {
		return false, nil
	}
	defer s.die(w)
	return true, fn(ctx)
}

// die lets go of a writer, as the end of its process does.
func (s *sharedStore) die(w uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, w)
}

func TestWhatADeadReplicaLeavesOpenIsClosedAndALivingOnesIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sharedStore{Memory: ledgertest.NewMemory(), held: map[uuid.UUID]bool{}}
		log := ledger.Open(store)
		var replicas []*world
		for range 3 {
			e, err := Open(t.Context(), Options{Log: log, Accounts: enrolments("a"), Document: document("a"), Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			replicas = append(replicas, &world{t: t, store: store.Memory, log: log, Engine: e})
		}
		left, living := replicas[0].decide(replicas[0].ask()), replicas[1].decide(Ask{Request: uuid.UUID{9}, Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"})
		if err := left.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		replicas[0].Engine.stop()
		store.die(replicas[0].writer)
		time.Sleep(2 * sweepEvery)
		if own := replicas[1].otherWriters(); len(own) != 0 {
			t.Errorf("with an attempt of its own open, a replica looks at %v", own)
		}
		living.Succeeded(events.Answer{Status: 200}, "stop")
		var lost []uuid.UUID
		for _, r := range replicas[1:] {
			if err := r.Engine.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		<-replicas[0].followed
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		for _, e := range all(t, store.Memory) {
			if f, ok := events.FailureOf(e.Data); ok && f.Class == events.ClassLost {
				lost = append(lost, e.Request)
			}
		}
		if len(lost) != 1 || lost[0] != left.header.Request {
			t.Errorf("lost: %v", lost)
		}
	})
}
