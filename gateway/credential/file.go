package credential

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/events"
)

// lookEvery is how often a file is looked at, at most.
const lookEvery = time.Second

// File is a credential in a file: read again when the file changes (its time,
// size or inode, as a secret mounted by an orchestrator is replaced), and at
// once when the provider has refused it. While the file cannot be read the last
// credential stays.
type File struct {
	*Renewed
	path string
	now  func() time.Time

	looked atomic.Int64 // when last, in ns
	mu     sync.Mutex
	seen   os.FileInfo
}

// NewFile reads a file for the first time. Options.Fetch is not used.
func NewFile(path string, o Options) (*File, error) {
	f := &File{path: path, now: o.Now}
	o.Fetch = f.read
	f.Renewed = New(o)
	f.looked.Store(o.Now().UnixNano())
	return f, f.Load(context.Background())
}

// Token is the credential in the file.
func (f *File) Token() (string, events.Epoch) {
	f.look()
	return f.Renewed.Token()
}

// look reads the file again if it has changed; one caller a second does.
func (f *File) look() {
	now, last := f.now().UnixNano(), f.looked.Load()
	if now-last < int64(lookEvery) || !f.looked.CompareAndSwap(last, now) {
		return
	}
	info, err := os.Stat(f.path)
	if err != nil || !f.changed(info) {
		return
	}
	if t, err := f.read(context.Background()); err == nil {
		f.adopt(t)
	} else if f.o.Failed != nil {
		f.o.Failed(err)
	}
}

func (f *File) changed(info os.FileInfo) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen == nil || !os.SameFile(f.seen, info) || f.seen.Size() != info.Size() || !f.seen.ModTime().Equal(info.ModTime())
}

// read reads the file and remembers what it looked like.
func (f *File) read(context.Context) (Token, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return Token{}, fmt.Errorf("read credential file: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Token{}, fmt.Errorf("read credential file: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(in, maxToken+1))
	if err != nil {
		return Token{}, fmt.Errorf("read credential file: %w", err)
	}
	f.mu.Lock()
	f.seen = info
	f.mu.Unlock()
	t, err := Parse(b)
	if err != nil {
		return Token{}, fmt.Errorf("read credential file %s: %w", f.path, err)
	}
	return t, nil
}
