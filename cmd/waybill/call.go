package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/waybill/waybill/gateway/config"
)

// errNobody: no admin API answers there.
var errNobody = errors.New("no gateway answers")

// running is the admin API of a gateway, as a command asks it.
type running struct {
	url   string
	token config.Secret
}

// runningAt is the gateway at --admin, "" for where the environment says.
func runningAt(admin string, e config.Environment) running {
	if admin == "" {
		admin = e.AdminListen
	}
	return running{adminURL(admin), e.AdminToken}
}

// call makes one call of the API; body is sent as JSON unless it is nil. When
// nobody answers the error is errNobody.
func (g running) call(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return nil, fmt.Errorf("write call: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, g.url+path, &text)
	if err != nil {
		return nil, usageError(fmt.Errorf("--admin: %w", err))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !g.token.Empty() {
		req.Header.Set("Authorization", "Bearer "+g.token.Reveal())
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", errNobody, g.url, err)
	}
	return resp, nil
}

// adminURL is where the admin API of a gateway is asked: a listening address
// that names no host is this machine.
func adminURL(addr string) string {
	if strings.Contains(addr, "://") {
		return strings.TrimSuffix(addr, "/")
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
