package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// events lists events as stored.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	f, after, limit := q.filter(), q.position("after"), q.limit()
	m, asked := q.moment(a.o.Engine.Now())
	if err := q.done(); err != nil {
		return err
	}
	if asked {
		head, err := inquiry.HeadAt(r.Context(), a.o.Log, m)
		if err != nil {
			return err
		}
		if f.UpTo = head.Position; f.UpTo == 0 {
			return answer(w, http.StatusOK, list[json.RawMessage]{Data: []json.RawMessage{}})
		}
	}
	got, err := a.o.Log.Read(r.Context(), after, f, limit+1)
	if err != nil {
		return err
	}
	out := list[json.RawMessage]{Data: []json.RawMessage{}}
	for i := range got[:min(len(got), limit)] {
		out.Data = append(out.Data, events.AppendJSON(nil, &got[i]))
	}
	if len(got) > limit {
		out.Next = &got[limit-1].Position
	}
	return answer(w, http.StatusOK, out)
}

// streamType is the media type of server-sent events.
const streamType = "text/event-stream"

const (
	beat      = 15 * time.Second // between frames that keep a stream alive and say how far it is
	sendLimit = 30 * time.Second // for one write; a reader slower than that is let go
)

// streamPosition is the frame that says how far a stream is: its id is what a
// reader resumes behind, though no event that it asked for came. No kind of
// event has this name.
const streamPosition = "position"

// stream sends events as they are committed (server-sent events): behind
// Last-Event-ID, else behind after, else from now on.
func (a *API) stream(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	f, asked := q.filter(), q.get("after")
	after := q.position("after")
	if err := q.done(); err != nil {
		return err
	}
	head, err := a.o.Log.Head(r.Context())
	if err != nil {
		return err
	}
	switch last := r.Header.Get("Last-Event-ID"); {
	case last != "": // a client that was cut off asks for the same address again
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil || events.Position(n) > head.Position {
			return problemf(http.StatusBadRequest, "header Last-Event-ID: want the id of an event that this stream gave, at most %d", head.Position)
		}
		after = events.Position(n)
	case asked == "":
		after = head.Position
	case after > head.Position:
		return problemf(http.StatusBadRequest, "parameter after: the ledger ends at %d; without it the stream begins there", head.Position)
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", streamType)
		return nil
	}
	return a.follow(w, r, f, after)
}

// follow runs until the reader or the API goes away; that is no error.
func (a *API) follow(w http.ResponseWriter, r *http.Request, f ledger.Filter, after events.Position) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.life, cancel)()
	frames, done := make(chan part), make(chan struct{})
	go func() {
		defer close(done)
		_ = a.o.Log.Follow(ctx, after, func(got []events.Event) error { return send(ctx, frames, f, got) }) // the stream ends with it
	}()
	s := sender{w: w, c: http.NewResponseController(w), at: after}
	s.begin()
	_ = s.here() // the first write would tell
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var err error
		select {
		case p := <-frames:
			if s.at = p.upTo; len(p.frames) > 0 {
				err = s.send(p.frames)
			}
		case <-tick.C:
			err = s.here()
		case <-done:
			return nil
		}
		if err != nil {
			cancel()
			<-done
			return nil
		}
	}
}

// part is the frames of what matched up to a position.
type part struct {
	frames []byte
	upTo   events.Position
}

// send hands the frames of matching events to the writer.
func send(ctx context.Context, frames chan<- part, f ledger.Filter, got []events.Event) error {
	var b bytes.Buffer
	for i := range got {
		if e := &got[i]; f.Match(e) {
			b.WriteString("id: " + strconv.FormatUint(uint64(e.Position), 10) + "\nevent: " + e.Data.Kind().String() + "\ndata: ")
			b.Write(events.AppendJSON(nil, e))
			b.WriteString("\n\n")
		}
	}
	select {
	case frames <- part{b.Bytes(), got[len(got)-1].Position}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sender writes frames, each within its time.
type sender struct {
	w  http.ResponseWriter
	c  *http.ResponseController
	at events.Position // what matched up to here was sent
}

func (s *sender) begin() {
	s.w.Header().Set("Content-Type", streamType)
	s.w.WriteHeader(http.StatusOK)
}

// here says how far the stream is.
func (s *sender) here() error {
	return s.send(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: {\"position\":%d}\n\n", s.at, streamPosition, s.at))
}

func (s *sender) send(frame []byte) error {
	_ = s.c.SetWriteDeadline(time.Now().Add(sendLimit)) // not every writer has deadlines
	if _, err := s.w.Write(frame); err != nil {
		return err
	}
	return s.c.Flush()
}
