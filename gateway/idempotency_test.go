package gateway

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
)

// TestAKeyringForgetsTheOldestKeyFirst: it is bounded, and a key that it has
// forgotten may come with any body.
func TestAKeyringForgetsTheOldestKeyFirst(t *testing.T) {
	var k keyring
	key := func(n uint32) [sha256.Size]byte { return sha256.Sum256(binary.BigEndian.AppendUint32(nil, n)) }
	a, b := key(1<<30), key(1<<31)
	for n := range uint32(keysKept + 10) {
		if !k.agrees(key(n), a) {
			t.Fatalf("key %d was never seen", n)
		}
	}
	if len(k.body.of) != keysKept || len(k.body.ring) != keysKept {
		t.Errorf("%d keys kept, %d in order", len(k.body.of), len(k.body.ring))
	}
	if k.agrees(key(keysKept+9), b) || k.agrees(key(10), b) {
		t.Error("a known key took another body")
	}
	if !k.agrees(key(9), b) {
		t.Error("the tenth key should be forgotten")
	}
}
