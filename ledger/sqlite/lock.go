package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/waybill/waybill/ledger"
)

// lockSuffix makes the name of the lock out of the ledger's.
const lockSuffix = ".lock"

// takeLock makes this process the only writer. The lock is on a file of its
// own and ends with the process, however it ends.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock ledger: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		_ = f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock ledger %s: %w", path, err)
		}
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			return nil, fmt.Errorf("%w: %s is held by process %s", ledger.ErrLocked, path, pid)
		}
		return nil, fmt.Errorf("%w: %s", ledger.ErrLocked, path)
	}
	if err := sign(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock ledger %s: %w", path, err)
	}
	return f, nil
}

// sign leaves the process id for whoever finds the lock taken.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}

// refuseNetwork: SQLite's write-ahead log needs shared memory, and its locks
// need to be true; network file systems give neither.
func refuseNetwork(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return fmt.Errorf("open ledger: %s is on a network file system; use a local disk or postgres://", dir)
	}
	return nil
}
