package events

import (
	"math/rand/v2"
	"reflect"
	"time"
)

// filler makes payloads by reflection, so that a new field is tested the day
// it is added.
type filler struct {
	rng  *rand.Rand
	full bool // every field set, every list of length two, plain strings
}

func (f *filler) payload(k Kind) Payload {
	p := kinds[k].make()
	f.fill(reflect.ValueOf(p).Elem())
	return p
}

func (f *filler) fill(v reflect.Value) {
	if !f.full && f.rng.IntN(4) == 0 {
		return // absent
	}
	switch x := v.Addr().Interface().(type) {
	case *Time:
		*x = Time(f.integer())
	case *time.Duration:
		*x = time.Duration(f.integer()%(1<<40)) * time.Microsecond
	case *OptInt:
		*x = Int(f.integer())
	case *OptDecimal:
		*x = Dec(Decimal(f.integer()))
	case *OptBool:
		*x = OptBool(1 + f.rng.IntN(2))
	case *Digest:
		for i := range x {
			x[i] = byte(f.rng.Uint32())
		}
	case *Scope:
		*x = f.scope()
	default:
		f.fillKind(v)
	}
}

func (f *filler) fillKind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		n := 2
		if !f.full {
			n = 1 + f.rng.IntN(4)
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(f.integer())
	case reflect.Uint8:
		if f.full {
			v.SetUint(1)
			return
		}
		v.SetUint(uint64(f.rng.IntN(256)))
	case reflect.Uint32:
		v.SetUint(uint64(f.rng.Uint32()) >> f.rng.IntN(32))
	case reflect.Uint64:
		v.SetUint(f.rng.Uint64() >> f.rng.IntN(64))
	default:
		panic("no rule to fill " + v.Type().String())
	}
}

// integer is small or anything at all.
func (f *filler) integer() int64 {
	if f.full {
		return 1_796_000_000_000_000 + int64(f.rng.IntN(1_000_000))
	}
	return int64(f.rng.Uint64()) >> f.rng.IntN(64)
}

func (f *filler) text() string {
	if f.full {
		return []string{"alpha", "beta", "gamma", "delta"}[f.rng.IntN(4)]
	}
	odd := []string{"", "a", `"\/`, "\x00\x1f\x7f", "Größe", "\xff", "\xed\xa0\x80", "\U0001f600", "\u2028<&>", `\udc80`, "\xc3(", "model:x:y"}
	s := ""
	for range f.rng.IntN(4) {
		s += odd[f.rng.IntN(len(odd))]
	}
	return s
}

func (f *filler) scope() Scope {
	if f.full {
		return Scope{ScopeModel, f.text()}
	}
	kind := ScopeKind(1 + f.rng.IntN(12)) // a newer binary's too
	return Scope{kind, f.text()}
}
