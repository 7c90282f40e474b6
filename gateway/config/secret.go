package config

import (
	"fmt"
	"log/slog"
)

// Secret is a string that prints, logs and marshals as redacted.
type Secret struct{ v string }

// NewSecret hides a string.
func NewSecret(v string) Secret { return Secret{v} }

const redacted = "[redacted]"

// Reveal is the secret itself. Call it only where the secret is used.
func (s Secret) Reveal() string { return s.v }

// Empty says that there is none.
func (s Secret) Empty() bool { return s.v == "" }

// Tail is the last four characters, for people to tell keys apart; less of one
// that has fewer than eight.
func (s Secret) Tail() string {
	n := 4
	if len(s.v) < 8 {
		n = len(s.v) / 4
	}
	return "..." + s.v[len(s.v)-n:]
}

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s.v == "" {
		return ""
	}
	return redacted
}

// Format keeps every verb from showing the secret.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, for the environment.
func (s *Secret) UnmarshalText(b []byte) error {
	s.v = string(b)
	return nil
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
