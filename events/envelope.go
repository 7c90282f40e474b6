package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
)

// Position is an event's ledger-wide number: gapless, in commit order, from 1.
type Position uint64

// Ref points at the evidence behind a verdict: a position when it is
// committed, or minus the writer's own sequence number while it is pending.
// The event that holds the reference was written by the same writer, whose
// events commit in order, so a pending one is found again between the view's
// position and the event itself.
type Ref int64

// RefOf is how an event is referred to by a view that has folded it.
func RefOf(e *Event) Ref {
	if e.Position == 0 {
		return -Ref(e.WriterSeq)
	}
	return Ref(e.Position)
}

// Epoch is the generation of an account's credential: a keyed digest, never a
// counter, so that every process names the same credential alike. Zero is none.
type Epoch uint64

// String is sixteen hex digits, or "" for none.
func (e Epoch) String() string {
	if e == 0 {
		return ""
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(e))
	return hex.EncodeToString(b[:])
}

// Digest is a truncated SHA-256 (sessions, policies, bodies). Zero is none.
type Digest [16]byte

// DigestOf digests length-prefixed parts, so that no two lists collide.
func DigestOf(parts ...string) Digest {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var d Digest
	copy(d[:], h.Sum(nil))
	return d
}

// IsZero says that there is none.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is hex, or "" for none.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// Hash is a SHA-256 of the chain.
type Hash [32]byte

// String is hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is hex.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads hex.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d hex digits, not %d", hex.EncodedLen(len(h)), len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// Header is the envelope that a writer fills in.
type Header struct {
	ID         uuid.UUID // UUIDv7, the idempotency key
	Writer     uuid.UUID // the process, from its gateway.started
	WriterSeq  uint64    // the writer's own gapless count from 1; commits keep its order
	ObservedAt Time      // when the fact was seen, by the writer's corrected clock
	Account    string    // "" when the event concerns none
	Epoch      Epoch     // of the account's credential at the time
	Model      string    // the model as sent upstream; "" when it concerns none
	Request    uuid.UUID // the client's request; zero when none
	Attempt    uint32    // from 1 within the request; zero when none
}

// Draft is a fact that is not yet in a ledger. Only a ledger makes an Event.
type Draft struct {
	Header
	Data Payload
}

// Event is a fact with its place: position, recorded time and hash. A pending
// view folds a draft as an Event whose Position is zero.
type Event struct {
	Header
	Position   Position
	RecordedAt Time // ledger's clock, monotone in position; for audit and paging, never for folds
	Hash       Hash // SHA-256(0x01, previous hash, position, recorded_at, content hash)
	Data       Payload
}

// Pending is the draft as a view sees it before it is committed.
func (d *Draft) Pending() Event { return Event{Header: d.Header, Data: d.Data} }

// Payload is one of the sealed structs of this package.
type Payload interface {
	// Kind is the payload's type, its permanent number and name.
	Kind() Kind
	fields(c *coder)
}

// Unknown is an event of a type or version that this binary does not know. It
// is kept byte for byte, skipped by folds and shown.
type Unknown struct {
	Type    Kind
	Version uint16
	Codec   byte
	Raw     []byte
}

// Kind is the unknown type's number.
func (u *Unknown) Kind() Kind { return u.Type }

func (u *Unknown) fields(c *coder) { c.raw(1, "raw", &u.Raw) }

// ParseDigest reads a digest's hex form.
func ParseDigest(s string) (Digest, bool) {
	var d Digest
	if hex.DecodedLen(len(s)) != len(d) {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(s))
	return d, err == nil
}

// SessionDigest names a client's session: two clients never share one, whatever
// they call it.
func SessionDigest(client, session string) Digest {
	return DigestOf("waybill session", client, session)
}
