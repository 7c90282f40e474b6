package provider

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/binary"

	"github.com/waybill/waybill/events"
)

// epochRounds makes guessing a weak credential from its epoch cost about a
// millisecond a guess.
const epochRounds = 4096

// Epoch names the generation of an account's credential: a digest keyed by the
// account, so that every process names the same credential alike without
// sharing anything, and two accounts with one credential do not show it. It
// holds 63 bits: an API key cannot be found from it. No credential has no epoch.
func Epoch(account, credential string) events.Epoch {
	if credential == "" {
		return 0
	}
	b, err := pbkdf2.Key(sha256.New, credential, []byte("waybill epoch\x00"+account), epochRounds, 8)
	if err != nil { // only for parameters that are never used here
		return 0
	}
	return events.Epoch(binary.BigEndian.Uint64(b) | 1)
}
