package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/ledger"
)

// holdRetry is the pause before a lost writer's lock is taken again.
const holdRetry = time.Second

// Hold implements ledger.Writers: an advisory lock on a connection of its own,
// taken again when that is lost, until the store is closed.
func (s *Store) Hold(ctx context.Context, writer uuid.UUID) error {
	conn, err := s.lockWriter(ctx, writer)
	if err != nil {
		return fmt.Errorf("hold writer: %w", err)
	}
	if conn == nil {
		return errors.New("hold writer: another process is this writer")
	}
	life, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.mu.Lock()
	s.holds = append(s.holds, func() {
		end()
		<-done
	})
	s.mu.Unlock()
	go func() {
		defer close(done)
		s.keep(life, conn, writer)
	}()
	return nil
}

// keep watches the connection that holds the lock.
func (s *Store) keep(life context.Context, conn *pgx.Conn, writer uuid.UUID) {
	for {
		if conn != nil {
			for err := error(nil); err == nil; { // none is listened for: it ends with the connection
				_, err = conn.WaitForNotification(life)
			}
			closeSoon(conn)
		}
		if life.Err() != nil {
			return
		}
		ledger.Rest(life, holdRetry)
		if life.Err() != nil {
			return
		}
		conn, _ = s.lockWriter(life, writer) // tried again until it is there
	}
}

// TakeOver implements ledger.Writers.
func (s *Store) TakeOver(ctx context.Context, writer uuid.UUID, fn func(ctx context.Context) error) (dead bool, err error) {
	conn, err := s.lockWriter(ctx, writer)
	if err != nil || conn == nil {
		return false, err
	}
	defer closeSoon(conn)
	defer func() { // a connection's end gives the lock back some time later
		_, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock_all()")
	}()
	return true, fn(ctx)
}

// lockWriter is a connection that holds the writer's lock, nil when another does.
func (s *Store) lockWriter(ctx context.Context, writer uuid.UUID) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.conf)
	if err != nil {
		return nil, unavailable(err)
	}
	var got bool
	// The second half of a UUIDv7 is random.
	key := int64(binary.BigEndian.Uint64(writer[8:]))
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&got); err != nil {
		closeSoon(conn)
		return nil, unavailable(err)
	}
	if !got {
		closeSoon(conn)
		return nil, nil
	}
	return conn, nil
}

// closeSoon ends a connection, politely if that takes no time.
func closeSoon(conn *pgx.Conn) {
	end, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(end)
}
