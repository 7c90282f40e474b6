package main

import (
	"io"
	"log/slog"

	"github.com/waybill/waybill/gateway/config"
)

func newLogger(w io.Writer, e config.Environment) *slog.Logger {
	o := &slog.HandlerOptions{Level: e.LogLevel}
	if e.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
