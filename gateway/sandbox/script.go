package sandbox

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The three accounts, by the keys in sandbox.yaml.
const (
	amber = "amber" // its console says that it is exhausted, and it serves all the same
	birch = "birch" // answers 429 now and then
	cedar = "cedar" // answers 402 now and then
)

const (
	birchLimit    = 4                // requests, then one 429
	birchCooldown = 10 * time.Second // its Retry-After
	cedarCredit   = 6                // requests, then 402 until the credit is back
	cedarRefill   = 30 * time.Second
)

// script decides who is answered how. It is an http.Handler.
type script struct {
	now func() time.Time

	mu     sync.Mutex
	served map[string]int       // since the account last ran out
	out    map[string]time.Time // until when it is out
	made   map[string]object    // stored responses, bounded
	order  []string             // of made, oldest first
	count  uint64               // of ids
}

func newScript(now func() time.Time) *script {
	return &script{now: now, served: map[string]int{}, out: map[string]time.Time{}, made: map[string]object{}}
}

// accountOf reads the account out of the credential.
func accountOf(r *http.Request) string {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch name := strings.TrimPrefix(key, "sandbox-key-"); name {
	case amber, birch, cedar:
		return name
	}
	return ""
}

// ServeHTTP implements http.Handler.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	account := accountOf(r)
	call, fault := readCall(r)
	call.account = account
	w.Header().Set("X-Sandbox", "scripted answer; account "+account)
	switch {
	case fault != nil:
		call.fail(w, *fault)
	case account == "":
		call.fail(w, failure{status: 401, code: "invalid_api_key", kind: "authentication_error", message: "the sandbox knows three keys and this is none of them"})
	case call.answers == nil:
		call.fail(w, failure{status: 404, code: "not_found", kind: "not_found_error", message: "the sandbox does not answer " + r.Method + " " + r.URL.Path})
	default:
		if f := s.verdict(account, call); f != nil {
			call.fail(w, *f)
			return
		}
		call.answers(s, call, w)
	}
}

// verdict is nil when the account serves.
func (s *script) verdict(account string, c *call) *failure {
	if !c.spends {
		return nil
	}
	if c.model == DryModel {
		return &failure{status: 429, code: "rate_limit_exceeded", kind: "rate_limit_error", retryAfter: time.Hour,
			message: "Rate limit reached for model dry: limit 0 of 0 requests per day. The sandbox has this model to show a refusal."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch account {
	case birch:
		return s.spend(account, birchLimit, birchCooldown, failure{status: 429, code: "rate_limit_exceeded", kind: "rate_limit_error",
			message: "Rate limit reached, please try again in 10s. (Sandbox account birch does this after every fourth answer.)"})
	case cedar:
		return s.spend(account, cedarCredit, cedarRefill, failure{status: 402, code: "insufficient_quota", kind: "billing_error", noRetry: true,
			message: "You have run out of credits. (Sandbox account cedar does this after every sixth answer; its credit is back after 30 s.)"})
	}
	return nil
}

// spend counts a request against an account's allowance.
func (s *script) spend(account string, limit int, pause time.Duration, f failure) *failure {
	now := s.now()
	if until := s.out[account]; now.Before(until) {
		f.retryAfter = until.Sub(now)
		return &f
	}
	if s.served[account] == limit {
		s.served[account] = 0
		s.out[account] = now.Add(pause)
		f.retryAfter = pause
		return &f
	}
	s.served[account]++
	return nil
}

// id names an answer.
func (s *script) id(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return fmt.Sprintf("%s_sandbox_%d_%d", prefix, s.now().UnixMilli(), s.count)
}
