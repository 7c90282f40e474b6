package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrToken: what a file or a command gave is no credential.
var ErrToken = errors.New("no credential")

// Token is a credential and when it ends; the zero time is never.
type Token struct {
	Secret  string
	Expires time.Time
}

// maxToken bounds what is read of a file or a command.
const maxToken = 64 << 10

// Parse reads a bare token, or {"token":"...","expires_at":"RFC 3339"}. The
// error never holds the text.
func Parse(b []byte) (Token, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return Token{}, fmt.Errorf("%w: it is empty", ErrToken)
	}
	if len(b) > maxToken {
		return Token{}, fmt.Errorf("%w: longer than %d bytes", ErrToken, maxToken)
	}
	t := Token{Secret: string(b)}
	if b[0] == '{' {
		var doc struct {
			Token   string     `json:"token"`
			Expires *time.Time `json:"expires_at"`
		}
		if json.Unmarshal(b, &doc) != nil {
			return Token{}, fmt.Errorf(`%w: want {"token":"...","expires_at":"2026-11-30T14:03:00Z"}`, ErrToken)
		}
		t.Secret = doc.Token
		if doc.Expires != nil {
			t.Expires = *doc.Expires
		}
	}
	for _, c := range []byte(t.Secret) {
		if c <= ' ' || c >= 0x7f {
			return Token{}, fmt.Errorf("%w: a blank or a control character is in it", ErrToken)
		}
	}
	if t.Secret == "" {
		return Token{}, fmt.Errorf("%w: it is empty", ErrToken)
	}
	return t, nil
}
