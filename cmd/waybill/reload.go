package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/waybill/waybill/gateway/config"
)

// settleTime is how long a file must rest before it is read.
const settleTime = 100 * time.Millisecond

// changes are the wishes to read the configuration again.
type changes struct {
	hup   chan os.Signal
	file  chan struct{}
	watch *fsnotify.Watcher // nil when no file is watched
}

// expectChanges begins to listen before the configuration is read for the first
// time, so that no change is missed.
func (s *service) expectChanges(context.Context) error {
	s.changes = &changes{hup: make(chan os.Signal, 1), file: make(chan struct{}, 1)}
	signal.Notify(s.changes.hup, syscall.SIGHUP)
	if s.source.Text != nil || s.source.Path == "" {
		return nil
	}
	// The directory is watched: editors and config maps replace a file instead
	// of writing it.
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(s.source.Path))
	}
	if err != nil {
		s.log.Warn("the config file is not watched; send SIGHUP after a change", "error", err)
		return nil
	}
	s.changes.watch = w
	go s.forward(w, s.changes.file)
	return nil
}

func (c *changes) stop() {
	signal.Stop(c.hup)
	if c.watch != nil {
		_ = c.watch.Close()
	}
}

// followChanges reloads on SIGHUP and when the file changes, until ctx ends.
func (s *service) followChanges(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changes.hup:
		case <-s.changes.file:
			settle(ctx, s.changes.file)
		}
		s.reload(ctx)
	}
}

// settle lets an editor finish: it returns once the file has rested.
func settle(ctx context.Context, changed <-chan struct{}) {
	for {
		timer := time.NewTimer(settleTime)
		select {
		case <-ctx.Done():
		case <-changed:
			timer.Stop()
			continue
		case <-timer.C:
		}
		return
	}
}

func (s *service) forward(w *fsnotify.Watcher, changed chan<- struct{}) {
	name := filepath.Clean(s.source.Path)
	for e := range w.Events {
		if filepath.Clean(e.Name) != name && !strings.HasPrefix(filepath.Base(e.Name), "..") || e.Op == fsnotify.Chmod {
			continue
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// reload reads the configuration again. A faulty one changes nothing. Accounts
// that come are known to the data plane before they are decided for, accounts
// that go are known until they are no longer; keys of clients count at once.
func (s *service) reload(ctx context.Context) {
	next, err := s.source.load()
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			s.log.Error("configuration not changed", "fault", line)
		}
		return
	}
	if next.Digest() == s.config.Digest() && sameSecrets(next, s.config) {
		return
	}
	for _, key := range s.config.Restart(next) {
		s.log.Warn("needs a restart", "key", key)
	}
	creds, err := s.credentialsOf(ctx, next, s.credentials)
	if err != nil {
		s.log.Error("configuration not changed", "error", err)
		return
	}
	polled, err := quotaTargets(next, creds)
	if err != nil {
		s.log.Error("configuration not changed", "error", err)
		return
	}
	target := gatewayConfig(next, creds)
	both := target
	for _, a := range gatewayConfig(s.config, s.credentials).Accounts {
		if _, stays := creds[a.ID]; !stays {
			both.Accounts = append(both.Accounts, a)
		}
	}
	n, err := 0, s.gateway.Adopt(both)
	if err == nil {
		n, err = s.engine.Adopt(ctx, next.Enrolments(creds.epoch), next.Document())
	}
	if err == nil {
		err = s.gateway.Adopt(target)
	}
	if err != nil {
		s.log.Error("configuration not changed", "error", err)
		return
	}
	s.renewCredentials(s.credentials, creds)
	s.poller.Adopt(polled)
	s.config, s.credentials = next, creds
	s.prices.Store(next.PriceTable)
	s.log.Info("configuration changed", "file", next.Path, "accounts", len(next.Accounts), "models", len(next.Models),
		"clients", len(next.Clients), "events", n)
}

// sameSecrets compares what a digest leaves out.
func sameSecrets(a, b *config.Config) bool { return a.SecretsDigest() == b.SecretsDigest() }
