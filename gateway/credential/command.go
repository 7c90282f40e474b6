package credential

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/waybill/waybill/gateway/redact"
)

// killWait is how long a command that was told to end may hold its pipes.
const killWait = 2 * time.Second

// Command fetches a token from a program that prints it. Whatever it prints to
// its error stream is shown redacted and cut, never its output.
func Command(argv []string) func(ctx context.Context) (Token, error) {
	return func(ctx context.Context) (Token, error) {
		var out, errs bounded
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, killWait
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return Token{}, fmt.Errorf("run credential command %q: %w%s", argv[0], err, said(errs.b))
		}
		t, err := Parse(out.b)
		if err != nil {
			return Token{}, fmt.Errorf("read credential command %q: %w", argv[0], err)
		}
		return t, nil
	}
}

func said(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return ": " + redact.Head(bytes.TrimSpace(b), 200)
}

// bounded keeps the beginning of what is written, one byte more than a token
// may have, so that a longer one is told.
type bounded struct{ b []byte }

// Write takes everything and keeps what fits.
func (b *bounded) Write(p []byte) (int, error) {
	b.b = append(b.b, p[:min(len(p), maxToken+1-len(b.b))]...)
	return len(p), nil
}
