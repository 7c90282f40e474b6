package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger/durable"
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

// certifiable refuses a place that no certificate can be written to, before the
// whole ledger is read for one.
func certifiable(path string) error {
	if path == "" {
		return nil
	}
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return usageError(fmt.Errorf("--certificate %s is a directory: name a file", path))
	}
	if fi, err := os.Stat(filepath.Dir(path)); err != nil || !fi.IsDir() {
		return usageError(fmt.Errorf("--certificate %s: there is no directory %s", path, filepath.Dir(path)))
	}
	return nil
}

// writeCertificate writes all of it or nothing: a half would prove nothing.
func writeCertificate(path string, v *inquiry.Verdict, now time.Time) error {
	c, err := certify(v, now)
	if err != nil {
		return err
	}
	if err := durable.Replace(path, 0o644, func(f *os.File) error { return printJSON(f, &c) }); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	return nil
}
