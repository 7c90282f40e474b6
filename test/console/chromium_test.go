package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// bound is how long everything here may take together. On a quiet machine it is
// a tenth of that; on one that is overloaded tenfold it still ends by itself.
const bound = 5 * time.Minute

// chromium finds the browser: the one named by WAYBILL_TEST_CHROMIUM, else one
// on the path, else one that is installed now (root on Debian).
func chromium(ctx context.Context) (string, error) {
	if path := os.Getenv("WAYBILL_TEST_CHROMIUM"); path != "" {
		return exec.LookPath(path)
	}
	for try := 0; ; try++ {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"} {
			if path, err := exec.LookPath(name); err == nil {
				return path, nil
			}
		}
		if try > 0 || os.Geteuid() != 0 {
			return "", errors.New("install Chromium (Debian: apt-get install chromium) or name one with WAYBILL_TEST_CHROMIUM")
		}
		install := exec.CommandContext(ctx, "apt-get", "install", "-y", "--no-install-recommends", "chromium")
		install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := install.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get install chromium: %w\n%s", err, out)
		}
	}
}

// browse starts one browser for all tests; it ends with the test.
func browse(t *testing.T) context.Context {
	t.Helper()
	path, err := chromium(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), bound)
	t.Cleanup(stop)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}
