package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/ledger"
)

// form is the form of a stored state: this byte, then a zstd frame with its
// checksum of what the state is of and the state. Another byte is a form that
// this binary does not read.
const form = 2

// maxState bounds what is unpacked: more cannot be a state of ours.
const maxState = 512 << 20

var (
	errPacked = errors.New("it cannot be unpacked")
	errMoved  = errors.New("its state was taken elsewhere: of another position, or of something else")
)

// packer packs and unpacks states; safe for concurrent use.
type packer struct {
	w *zstd.Encoder
	r *zstd.Decoder
}

func newPacker() (p packer, err error) {
	if p.w, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)); err != nil {
		return p, err
	}
	p.r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxState))
	return p, err
}

// origin is what a state is of. It is packed with the state, so that a state
// which is moved to another place in the store shows where it belongs.
func origin(s *ledger.Snapshot) []byte {
	b := binary.AppendUvarint(nil, uint64(len(s.Name)))
	b = append(b, s.Name...)
	b = binary.AppendUvarint(b, uint64(s.Version))
	b = binary.AppendUvarint(b, uint64(s.At.Position))
	return append(b, s.At.Hash[:]...)
}

func (p packer) pack(s *ledger.Snapshot) []byte {
	return p.w.EncodeAll(append(origin(s), s.State...), append(make([]byte, 0, len(s.State)/3+96), form))
}

// unpack is the state of a snapshot as stored.
func (p packer) unpack(s *ledger.Snapshot) ([]byte, error) {
	b := s.State
	if len(b) == 0 || b[0] != form {
		return nil, fmt.Errorf("%w: another form", errPacked)
	}
	state, err := p.r.DecodeAll(b[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	state, ok := bytes.CutPrefix(state, origin(s))
	if !ok {
		return nil, errMoved
	}
	return state, nil
}
