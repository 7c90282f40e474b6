// Package durable writes files of which a crash leaves all or nothing: under its
// name stands the new file, whole and on the disk, or what stood there before.
// It must not know what is written.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replace puts a file under a name, in place of one that is there.
func Replace(path string, mode fs.FileMode, fill func(*os.File) error) error {
	return put(path, mode, fill, os.Rename)
}

// Create puts a file under a name that nothing has; else it is fs.ErrExist.
func Create(path string, mode fs.FileMode, fill func(*os.File) error) error {
	return put(path, mode, fill, func(part, path string) error {
		if err := os.Link(part, path); err != nil {
			return err
		}
		return os.Remove(part)
	})
}

// put fills a file beside the place, and gives it its name once it is on the
// disk. Whoever writes one name takes turns: the file is open, and thereby
// locked, until it has its name.
func put(path string, mode fs.FileMode, fill func(*os.File) error, name func(part, path string) error) (err error) {
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	f, err := begin(part)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err = errors.Join(fill(f), f.Chmod(mode)); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = name(part, path)
	}
	if err != nil { // the part has its first name still, and is ours
		return errors.Join(err, os.Remove(part))
	}
	return Dir(filepath.Dir(path))
}

// begin opens an empty file that nobody else writes. What a crash left of it is
// written over.
func begin(part string) (*os.File, error) {
	for {
		f, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		_ = unix.Flock(int(f.Fd()), unix.LOCK_EX) // some file systems have none: then nobody may write beside us
		ours, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(part); err == nil && os.SameFile(ours, there) {
			return f, f.Truncate(0)
		}
		_ = f.Close() // whoever had it has given it its name meanwhile
	}
}

// Dir makes durable what was made, renamed or removed in a directory.
func Dir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
