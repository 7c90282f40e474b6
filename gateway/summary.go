package gateway

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Summary is what is known of a request at its end: one log line, one sample
// of each metric. It holds nothing that a client or an upstream wrote, but for
// the model's name.
type Summary struct {
	Request   uuid.UUID
	Client    string
	Dialect   events.Dialect
	Operation string // "" when the path is not part of the data plane
	Model     string // as asked
	Account   string // of the newest attempt, "" when there was none
	Attempts  int
	Class     events.Class // of the newest attempt
	Outcome   string       // served, failed, refused, aborted
	Code      string       // of a refusal
	Status    int          // what the client got, 0 when nothing
	Duration  time.Duration
	FirstByte time.Duration // from the request's arrival to the first meaningful frame, 0 when none came
	Sent      int64         // bytes of the answer's body
}

func (x *exchange) summarize() {
	s := Summary{
		Request: x.id, Dialect: x.speaks, Model: x.req.Model, Account: x.tries.account, Attempts: len(x.tries.tried),
		Class: x.tries.class, Outcome: x.end, Code: x.code, Status: x.status,
		Duration: time.Since(x.begun), FirstByte: x.firstByte, Sent: x.sent,
	}
	if x.client != nil {
		s.Client = x.client.ID
	}
	if x.route != nil {
		s.Operation = x.route.Name
	}
	if s.Outcome == "" {
		s.Outcome = endServed
	}
	if x.g.done != nil {
		x.g.done(&s)
	}
	x.g.logRequest(x.idText, &s)
}

// logRequest writes the one wide line of a request.
func (g *Gateway) logRequest(id string, s *Summary) {
	level := slog.LevelInfo
	if s.Status >= 500 {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !g.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	attrs = append(attrs, slog.String("request", id), slog.String("outcome", s.Outcome), slog.Int("status", s.Status))
	for _, w := range [...]struct{ name, value string }{
		{"operation", s.Operation}, {"model", s.Model}, {"account", s.Account}, {"class", className(s.Class)}, {"code", s.Code}, {"client", s.Client},
	} {
		if w.value != "" {
			attrs = append(attrs, slog.String(w.name, w.value))
		}
	}
	if s.Attempts > 0 {
		attrs = append(attrs, slog.Int("attempts", s.Attempts))
	}
	attrs = append(attrs, slog.Duration("duration", s.Duration))
	if s.FirstByte > 0 {
		attrs = append(attrs, slog.Duration("first_byte", s.FirstByte))
	}
	g.log.LogAttrs(ctx, level, "request", append(attrs, slog.Int64("sent", s.Sent))...)
}

// className is a class by name, "" for success and none: a line tells what was
// out of the ordinary.
func className(c events.Class) string {
	if c == events.ClassSuccess {
		return ""
	}
	return c.String()
}

// logFault reports a fault of ours. What panicked may hold anything, so only
// its type and place are written.
func (g *Gateway) logFault(x *exchange, fault any) {
	g.log.Error("request failed by a fault of the gateway", "request", x.idText, "fault", faultText(fault), "stack", stack())
}
