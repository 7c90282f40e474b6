package snapshot

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// form is the form of a stored state: this byte, then a zstd frame with its
// checksum. Another byte is a form that this binary does not read.
const form = 1

// maxState bounds what is unpacked: more cannot be a state of ours.
const maxState = 512 << 20

var errPacked = errors.New("it cannot be unpacked")

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

func (p packer) pack(state []byte) []byte {
	return p.w.EncodeAll(state, append(make([]byte, 0, len(state)/3+64), form))
}

func (p packer) unpack(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != form {
		return nil, fmt.Errorf("%w: another form", errPacked)
	}
	state, err := p.r.DecodeAll(b[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	return state, nil
}
