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
	x.g.logRequest(&s)
}

// logRequest writes the one wide line of a request.
func (g *Gateway) logRequest(s *Summary) {
	level := slog.LevelInfo
	if s.Status >= 500 {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !g.log.Enabled(ctx, level) {
		return
	}
	attrs := [...]slog.Attr{
		slog.String("request", s.Request.String()), slog.String("outcome", s.Outcome), slog.Int("status", s.Status),
		slog.String("operation", s.Operation), slog.String("model", s.Model), slog.String("account", s.Account),
		slog.Int("attempts", s.Attempts), slog.String("class", s.Class.String()), slog.String("code", s.Code),
		slog.String("client", s.Client), slog.Duration("duration", s.Duration), slog.Duration("first_byte", s.FirstByte),
		slog.Int64("sent", s.Sent),
	}
	g.log.LogAttrs(ctx, level, "request", attrs[:]...)
}

// logFault reports a fault of ours. What panicked may hold anything, so only
// its type and place are written.
func (g *Gateway) logFault(x *exchange, fault any) {
	g.log.Error("request failed by a fault of the gateway", "request", x.idText, "fault", faultText(fault), "stack", stack())
}
