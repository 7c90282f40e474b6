package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
)

// certificate is what a verification leaves for an auditor: the same ledger and
// binary give the same digest, whenever that was.
type certificate struct {
	Format string `json:"certificate"`
	inquiry.Verdict
	Binary     verifier    `json:"binary"`
	VerifiedAt events.Time `json:"verified_at"`
	Digest     string      `json:"digest"` // SHA-256 of all of it but digest and verified_at
}

// verifier is the binary that verified.
type verifier struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// certificateFormat names the shape of the file.
const certificateFormat = "waybill-verify/1"

// certify makes a certificate of a verdict.
func certify(v *inquiry.Verdict, now time.Time) (certificate, error) {
	c := certificate{Format: certificateFormat, Verdict: *v, Binary: verifier{version(), runtime.Version()}}
	b, err := json.Marshal(&c)
	if err != nil {
		return c, fmt.Errorf("write certificate: %w", err)
	}
	sum := sha256.Sum256(b)
	c.Digest, c.VerifiedAt = hex.EncodeToString(sum[:]), events.At(now)
	return c, nil
}

// writeCertificate writes beside the target and renames: a half of one would
// prove nothing.
func writeCertificate(path string, v *inquiry.Verdict, now time.Time) error {
	c, err := certify(v, now)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return usageError(fmt.Errorf("certificate: %w", err))
	}
	defer os.Remove(f.Name()) // gone already when it was renamed
	err = errors.Join(printJSON(f, &c), f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("certificate %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
