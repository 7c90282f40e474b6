package postgres

import "encoding/binary"

// The type numbers of the arrays that an insert takes.
const (
	oidBytea = 17
	oidInt8  = 20
	oidInt4  = 23
	oidUUID  = 2950
)

// array is a one-dimensional array in PostgreSQL's binary form, written by
// hand: a thousand events are fifteen thousand values, and reflection over
// them would cost more than all else in a commit.
type array struct {
	b []byte
	n int
}

const arrayHeader = 20

// start begins an array of an element type; its memory is used again.
func (a *array) start(oid uint32) {
	a.b = append(a.b[:0], make([]byte, arrayHeader)...)
	a.n = 0
	binary.BigEndian.PutUint32(a.b[0:], 1) // dimensions
	binary.BigEndian.PutUint32(a.b[8:], oid)
	binary.BigEndian.PutUint32(a.b[16:], 1) // first index
}

func (a *array) int8(v int64) {
	a.b = binary.BigEndian.AppendUint32(a.b, 8)
	a.b = binary.BigEndian.AppendUint64(a.b, uint64(v))
	a.n++
}

func (a *array) int4(v int32) {
	a.b = binary.BigEndian.AppendUint32(a.b, 4)
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(v))
	a.n++
}

func (a *array) bytes(v []byte) {
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(len(v)))
	a.b = append(a.b, v...)
	a.n++
}

// text is bytes, NULL for none.
func (a *array) text(v string) {
	if v == "" {
		a.null()
		return
	}
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(len(v)))
	a.b = append(a.b, v...)
	a.n++
}

// uuid is an id, NULL for the zero one.
func (a *array) uuid(v [16]byte) {
	if v == [16]byte{} {
		a.null()
		return
	}
	a.bytes(v[:])
}

func (a *array) null() {
	binary.BigEndian.PutUint32(a.b[4:], 1) // there are NULLs
	a.b = binary.BigEndian.AppendUint32(a.b, 1<<32-1)
	a.n++
}

// done is the parameter's value.
func (a *array) done() []byte {
	binary.BigEndian.PutUint32(a.b[12:], uint32(a.n))
	return a.b
}
