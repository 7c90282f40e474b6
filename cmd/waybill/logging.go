package main

import (
	"io"
	"log/slog"

	"github.com/waybill/waybill/gateway/config"
)

func newLogger(w io.Writer, e config.Environment) *slog.Logger {
	o := &slog.HandlerOptions{Level: e.LogLevel}
	if e.LogFormat == "json" {
		o.ReplaceAttr = readable
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// readable writes durations with their unit: a bare number would be read as
// seconds or milliseconds and is neither.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
