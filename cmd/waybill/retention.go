package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/projections/story"
)

// retentionEvery is how often a gateway looks for events that are too old.
const retentionEvery = 10 * time.Minute

// retention archives what is older than the configuration keeps, one replica
// at a time, and tells the ledger's size.
type retention struct {
	keep  config.Ledger
	store ledger.Store
	log   *ledger.Log
	key   *checkpoint.Key
	now   func() time.Time
	out   *slog.Logger

	mu   sync.Mutex
	last admin.Retention
}

func (s *service) openRetention(context.Context) error {
	key, err := ownKey(s.config.Ledger, s.source.Env)
	if err != nil {
		return err
	}
	keep := s.config.Ledger
	s.retention = &retention{keep: keep, store: s.store, log: s.ledger, key: key, now: s.now, out: s.log}
	s.retention.last = admin.Retention{RetainS: int64(keep.Retain / time.Second), ArchiveDir: keep.ArchiveDir, Segment: events.Position(keep.Segment)}
	s.metrics.registry.MustRegister(s.retention.gauges())
	return nil
}

// run archives until ctx ends. Without a place for archives nothing ever leaves.
func (r *retention) run(ctx context.Context) {
	if r.keep.Retain == 0 || r.keep.ArchiveDir == "" {
		return
	}
	t := time.NewTicker(retentionEvery)
	defer t.Stop()
	for {
		r.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (r *retention) look(ctx context.Context) {
	now := r.now()
	o := archiveOptions(r.keep, r.log, r.key, r.now, r.out)
	o.Dir, o.Before = r.keep.ArchiveDir, events.At(now.Add(-r.keep.Retain))
	done, err := archive.Run(ctx, r.store, o)
	if ctx.Err() != nil || errors.Is(err, archive.ErrBusy) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last.LastRun, r.last.Error = events.At(now), ""
	if err != nil {
		r.last.Error = err.Error()
		r.out.Error("old events were not archived", "error", err)
	}
	for i := range done {
		r.out.Info("old events archived", "first", done[i].First, "last", done[i].End.Position, "file", done[i].Path)
	}
}

// archiveOptions are what the command and a gateway archive with.
func archiveOptions(l config.Ledger, log *ledger.Log, key *checkpoint.Key, now func() time.Time, out *slog.Logger) archive.Options {
	return archive.Options{
		Size: events.Position(l.Segment), Now: now,
		Floor: func(ctx context.Context) (events.Position, error) { return engine.Floor(ctx, log, out) },
		Sign: func(h ledger.Head, id uuid.UUID) (string, error) {
			msg, err := checkpoint.Checkpoint{Ledger: id, Head: h}.Sign(key)
			return string(msg), err
		},
	}
}

func (r *retention) state() admin.Retention {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// note is for /readyz.
func (r *retention) note(ctx context.Context) string {
	size, err := r.log.Size(ctx)
	if err != nil {
		return "unknown: " + err.Error()
	}
	text := fmt.Sprintf("%s, %d events", story.Bytes(size.Bytes), size.Events)
	if size.Oldest != 0 {
		text += fmt.Sprintf(", the oldest %s old", story.Span(r.now().Sub(size.Oldest.Std())))
	}
	switch {
	case r.keep.Retain == 0:
		return text + "; kept for ever"
	case r.keep.ArchiveDir == "":
		return text + fmt.Sprintf("; retain is %s, but nothing is archived: ledger.archive_dir is not set", r.keep.Retain)
	}
	if st := r.state(); st.Error != "" {
		return text + "; OLD EVENTS CANNOT BE ARCHIVED: see GET /api/v1/ledger"
	}
	return text + fmt.Sprintf("; kept for %s", r.keep.Retain)
}

// archiveDir is where the command archives to when it is not told.
func archiveDir(l config.Ledger, e config.Environment) (string, error) {
	if l.ArchiveDir != "" {
		return l.ArchiveDir, nil
	}
	dir, err := besideLedger(e, "archive")
	if err != nil {
		return "", usageError(err)
	}
	return filepath.Abs(dir)
}

// gauges are read off the ledger.
func (r *retention) gauges() *gauges {
	const (
		bytes    = "waybill_ledger_bytes"
		rows     = "waybill_ledger_events"
		oldest   = "waybill_ledger_oldest_timestamp_seconds"
		retain   = "waybill_ledger_retain_seconds"
		archived = "waybill_ledger_archived_position"
	)
	return newGauges(func(tell tellGauge) {
		ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
		defer cancel()
		tell(retain, r.keep.Retain.Seconds())
		size, err := r.log.Size(ctx)
		if err != nil {
			return
		}
		tell(bytes, float64(size.Bytes))
		tell(rows, float64(size.Events))
		if size.Oldest != 0 {
			tell(oldest, float64(size.Oldest)/1e6)
		}
		if l, err := r.log.Layout(ctx, 0); err == nil {
			tell(archived, float64(l.Anchor().Position))
		}
	},
		series{name: bytes, help: "What the live part of the ledger takes on its disk."},
		series{name: rows, help: "Events in the live part of the ledger."},
		series{name: oldest, help: "When the oldest live event was recorded."},
		series{name: retain, help: "How long events stay live (ledger.retain); 0: for ever."},
		series{name: archived, help: "Last position that left for an archive."})
}
