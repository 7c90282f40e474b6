package sqlite

import (
	"fmt"
	"os"
)

const (
	// pageSize is SQLite's own default.
	pageSize = 4096
	// walPages is how many pages of log are written back at a time.
	walPages = 2000
	// walSize covers walPages with their headers.
	walSize = walPages*(pageSize+24) + 32
)

// extendWAL fills the write-ahead log with zeros up to the size at which it is
// used again from the start. SQLite ends its log at the first frame whose
// checksum is wrong, so zeros behind the last frame mean nothing to it, while
// overwriting instead of growing saves the file system a second journal write
// in each commit. No lock of SQLite is on this file, so closing it is harmless.
func extendWAL(path string) error {
	f, err := os.OpenFile(path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return fmt.Errorf("extend write-ahead log: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("extend write-ahead log: %w", err)
	}
	const chunk = 1 << 20
	zeros := make([]byte, chunk)
	for at := fi.Size(); at < walSize; at += chunk {
		if _, err := f.WriteAt(zeros[:min(chunk, walSize-at)], at); err != nil {
			_ = f.Truncate(fi.Size()) // a full disk is for the commit to report
			return nil
		}
	}
	return f.Sync()
}
