package sqlite

import (
	"fmt"
	"reflect"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	engine "modernc.org/sqlite/lib"
	zs "zombiezen.com/go/sqlite"
)

// gathered stands between the engine and one of its files. The engine writes each
// page of a commit to its log with two calls of the system (a header, then the
// page) and each page of a checkpoint to the database with one; here what follows
// one another is put together and written at once, before the flush that every
// commit and every checkpoint ends with (synchronous=FULL) and that a reader learns
// of it behind. Whatever else looks at the file makes the bytes go out first.
//
// It lies outside of Go's heap and begins with the methods that the engine calls
// for the file, so a file leads to its own.
type gathered struct {
	methods engine.Tsqlite3_io_methods
	own     uintptr // the engine's methods
	at      int64   // where in the file bytes go
	used    int
	bytes   [64 << 10]byte // the engine's own way to the system takes less than 128 KiB at a time
}

// The files of a connection, as newGathered is told of them.
const (
	databaseFile = engine.SQLITE_FCNTL_FILE_POINTER
	logFile      = engine.SQLITE_FCNTL_JOURNAL_POINTER
)

// newGathered puts itself between the engine and a connection's file; nil where
// the disk is such that the engine writes behind its last flush. It is freed
// after the connection was closed.
func newGathered(c *zs.Conn, tls *libc.TLS, which int32) (*gathered, error) {
	db := reflect.ValueOf(c).Elem().FieldByName("conn")
	if db.Kind() != reflect.Uintptr || db.Uint() == 0 {
		return nil, fmt.Errorf("the SQLite bindings have changed: no handle in %T", c)
	}
	room, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(gathered{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("memory for what is to be written: %w", err)
	}
	g := (*gathered)(unsafe.Pointer(unsafe.SliceData(room)))
	if err := g.stand(tls, uintptr(db.Uint()), which); err != nil || g.own == 0 {
		g.free()
		return nil, err
	}
	return g, nil
}

// stand finds the file and takes its methods' place.
func (g *gathered) stand(tls *libc.TLS, db uintptr, which int32) error {
	name := append(g.bytes[:0], "main\x00"...)
	answer := (*uintptr)(unsafe.Pointer(&g.bytes[16]))
	code := engine.Xsqlite3_file_control(tls, db, uintptr(unsafe.Pointer(&name[0])), which, uintptr(unsafe.Pointer(answer)))
	if code != engine.SQLITE_OK || *answer == 0 {
		return fmt.Errorf("find the file to gather for: %w", zs.ResultCode(code).ToError())
	}
	file := *answer
	methods := &at[engine.Tsqlite3_file](file).FpMethods
	own := *at[engine.Tsqlite3_io_methods](*methods)
	if call[func(*libc.TLS, uintptr) int32](own.FxDeviceCharacteristics)(tls, file)&engine.SQLITE_IOCAP_POWERSAFE_OVERWRITE == 0 {
		return nil
	}
	g.own, g.methods = *methods, own
	g.methods.FxClose = pointer(gatherClose)
	g.methods.FxRead = pointer(gatherRead)
	g.methods.FxWrite = pointer(gatherWrite)
	g.methods.FxTruncate = pointer(gatherTruncate)
	g.methods.FxSync = pointer(gatherSync)
	g.methods.FxFileSize = pointer(gatherFileSize)
	*methods = uintptr(unsafe.Pointer(g))
	return nil
}

// free gives the memory back; nil has none.
func (g *gathered) free() {
	if g != nil {
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(g)), unsafe.Sizeof(*g))) // it was mapped whole
	}
}

// flush writes what was gathered. What could not be written is given up, as the
// commit is that it belongs to.
func (g *gathered) flush(tls *libc.TLS, file uintptr) int32 {
	n := g.used
	if g.used = 0; n == 0 {
		return engine.SQLITE_OK
	}
	return g.write(tls, file, uintptr(unsafe.Pointer(&g.bytes)), int32(n), g.at)
}

func (g *gathered) write(tls *libc.TLS, file, data uintptr, n int32, to int64) int32 {
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](g.ours().FxWrite)(tls, file, data, n, to)
}

// ours are the engine's methods.
func (g *gathered) ours() *engine.Tsqlite3_io_methods { return at[engine.Tsqlite3_io_methods](g.own) }

// of is what stands before a file.
func of(file uintptr) *gathered { return at[gathered](at[engine.Tsqlite3_file](file).FpMethods) }

func gatherWrite(tls *libc.TLS, file, data uintptr, n int32, to int64) int32 {
	g := of(file)
	if g.used > 0 && (to != g.at+int64(g.used) || int(n) > len(g.bytes)-g.used) {
		if code := g.flush(tls, file); code != engine.SQLITE_OK {
			return code
		}
	}
	if int(n) > len(g.bytes) {
		return g.write(tls, file, data, n, to)
	}
	if g.used == 0 {
		g.at = to
	}
	g.used += copy(g.bytes[g.used:], unsafe.Slice(at[byte](data), n))
	return engine.SQLITE_OK
}

func gatherSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	g := of(file)
	if code := g.flush(tls, file); code != engine.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, int32) int32](g.ours().FxSync)(tls, file, flags)
}

func gatherRead(tls *libc.TLS, file, data uintptr, n int32, from int64) int32 {
	g := of(file)
	if code := g.flush(tls, file); code != engine.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](g.ours().FxRead)(tls, file, data, n, from)
}

func gatherTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	g := of(file)
	if code := g.flush(tls, file); code != engine.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, int64) int32](g.ours().FxTruncate)(tls, file, size)
}

func gatherFileSize(tls *libc.TLS, file, size uintptr) int32 {
	g := of(file)
	if code := g.flush(tls, file); code != engine.SQLITE_OK {
		return code
	}
	return call[func(*libc.TLS, uintptr, uintptr) int32](g.ours().FxFileSize)(tls, file, size)
}

// gatherClose steps aside.
func gatherClose(tls *libc.TLS, file uintptr) int32 {
	g := of(file)
	_ = g.flush(tls, file) // of no commit: each was flushed by its end
	at[engine.Tsqlite3_file](file).FpMethods = g.own
	return call[func(*libc.TLS, uintptr) int32](g.ours().FxClose)(tls, file)
}

// at is the value that a pointer of the engine's points to.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// call is the function that a pointer of the engine's points to.
func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// pointer is a function as the engine points to it. The function must be none
// that holds variables: nothing else keeps it.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }
