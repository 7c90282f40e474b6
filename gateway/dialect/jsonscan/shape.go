// Package jsonscan reads JSON as it passes: bytes go in at any chunk boundary,
// and out come a strict verdict on the syntax and the few members that the
// caller named, with their places. It builds no tree, re-encodes nothing and
// keeps no more than the values it was asked to keep. It knows no protocol.
package jsonscan

// Each as a Field's Name stands for every element of the parent array.
const Each = "[]"

// Field names one member of interest: a key below its parent field, or Each.
type Field struct {
	Parent int // index of the parent in the shape, Root for a key of the outermost object
	Name   string
	Keep   int // bytes of the text of a string or number to keep; a longer one is noted but not kept
	// Whole keeps the text of an object or array too; fields below it are then
	// found but not kept.
	Whole bool
}

// Root is the Parent of a top-level key.
const Root = -1

// MaxFields is the most fields that a shape may have.
const MaxFields = 127

// Shape is a set of fields, compiled once and shared by scanners.
type Shape struct {
	fields []Field
	// first and next chain the children of each field: the root's chain is
	// first[0], field i's is first[i+1].
	first []int8
	next  []int8
}

// NewShape compiles fields. Parents stand before their children.
func NewShape(fields ...Field) *Shape {
	if len(fields) > MaxFields {
		panic("jsonscan: too many fields")
	}
	s := &Shape{fields: fields, first: make([]int8, len(fields)+1), next: make([]int8, len(fields))}
	for i := range s.first {
		s.first[i] = none
	}
	for i := len(fields) - 1; i >= 0; i-- {
		at := fields[i].Parent + 1
		if at > i {
			panic("jsonscan: a parent stands after its child")
		}
		s.next[i], s.first[at] = s.first[at], int8(i)
	}
	return s
}

const none int8 = -1

// off marks a place below which nothing is of interest.
const off int8 = -2

// child is the field of this name below parent, off when there is none.
func (s *Shape) child(parent int8, name []byte) int8 {
	if parent == off {
		return off
	}
	for i := s.first[parent+1]; i != none; i = s.next[i] {
		if s.fields[i].Name == string(name) {
			return i
		}
	}
	return off
}

// each is the field that stands for the elements of an array.
func (s *Shape) each(parent int8) int8 {
	if parent == off {
		return off
	}
	if i := s.first[parent+1]; i != none && s.fields[i].Name == Each {
		return i
	}
	return off
}

// Kind is what a value is.
type Kind uint8

// The kinds of JSON.
const (
	Absent Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// Member is what a scan found of a field.
type Member struct {
	Kind  Kind // of the last occurrence, Absent when it never came
	Full  bool // some occurrence was more than null, false, "", [] or {}
	over  bool
	Times int32 // occurrences
	text  [2]int32
	From  int64
	To    int64 // the last occurrence's text is [From, To); To is 0 while it is still passing
}
