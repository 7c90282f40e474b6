package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/quota"
	"github.com/waybill/waybill/gateway/sandbox"
)

func (s *service) startSandbox(ctx context.Context) (err error) {
	if !s.source.sandbox {
		return nil
	}
	if s.upstream, err = sandbox.Start(ctx, s.now); err != nil {
		return err
	}
	return s.source.at(s.upstream.URL())
}

// playSandbox shows the dry model its limit once, so that the first request of
// a client for it is refused, and then lets the console speak.
func (s *service) playSandbox(ctx context.Context) {
	s.tryDry(ctx)
	if err := sandbox.Console(ctx, s.now, s.push); err != nil {
		s.log.Error("the sandbox's console ended", "error", err)
	}
}

// push appends a reading as POST /accounts/{id}/readings does.
func (s *service) push(ctx context.Context, account string, body []byte) error {
	r, at, err := quota.Push(body, s.engine.Now())
	if err != nil {
		return err
	}
	_, err = s.engine.Append(ctx, events.Draft{Header: events.Header{Account: account, ObservedAt: at}, Data: &events.QuotaFetched{Reading: *r}})
	return err
}

// tryDry sends one request for the dry model through the data plane, as a
// client would.
func (s *service) tryDry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body := `{"model":"` + sandbox.DryModel + `","messages":[{"role":"user","content":"is there anything left today?"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.data.Addr().String()+"/v1/chat/completions", bytes.NewReader([]byte(body)))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	for i := range s.config.Clients {
		if k := s.config.Clients[i].Key; !k.Empty() {
			req.Header.Set("Authorization", "Bearer "+k.Reveal())
			break
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.log.Debug("the dry model was not tried", "error", err)
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // only its effect counts
}
