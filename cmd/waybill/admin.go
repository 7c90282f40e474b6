package main

import (
	"context"
	"net/http"
)

// serveAdmin serves the admin API, readiness and metrics.
func (s *service) serveAdmin(context.Context) error {
	m := http.NewServeMux()
	m.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	m.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.engine.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	m.Handle("/metrics", s.metrics.handler(s.config.Env))
	s.admin.serve(m, s.failed)
	return nil
}
