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

// settleTime lets an editor finish writing before the file is read.
const settleTime = 100 * time.Millisecond

// watchConfig reloads on SIGHUP and when the file changes, until ctx ends.
func (s *service) watchConfig(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	changed, stop := s.fileChanges()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			s.reload(ctx)
		case <-changed:
			time.Sleep(settleTime)
			drain(changed)
			s.reload(ctx)
		}
	}
}

func drain(ch <-chan struct{}) {
	select {
	case <-ch:
	default:
	}
}

// fileChanges tells when the file changes. It watches the directory: editors
// and config maps replace a file instead of writing it.
func (s *service) fileChanges() (<-chan struct{}, func()) {
	changed := make(chan struct{}, 1)
	if s.source.Text != nil || s.source.Path == "" {
		return changed, func() {}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(s.source.Path))
	}
	if err != nil {
		s.log.Warn("the config file is not watched; send SIGHUP after a change", "error", err)
		return changed, func() {}
	}
	go s.forward(w, changed)
	return changed, func() { _ = w.Close() }
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
	creds := credentialsOf(next)
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
	s.config, s.credentials = next, creds
	s.log.Info("configuration changed", "file", next.Path, "accounts", len(next.Accounts), "models", len(next.Models),
		"clients", len(next.Clients), "events", n)
}

// sameSecrets compares what a digest leaves out.
func sameSecrets(a, b *config.Config) bool { return a.SecretsDigest() == b.SecretsDigest() }
