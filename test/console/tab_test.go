package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// look is how a page is looked at.
type look struct {
	name          string
	scheme        string
	width, height int64
	phone         bool
	rules         string // of axe: "" is all
}

// looks: a colour scheme changes nothing but colours, which is what axe looks at
// in the dark ones. The second phone is a narrow one.
func looks() []look {
	return []look{
		{name: "light", scheme: "light", width: 1280, height: 900},
		{name: "dark", scheme: "dark", width: 1280, height: 900, rules: `, runOnly: ["color-contrast"]`},
		{name: "phone", scheme: "light", width: 390, height: 844, phone: true},
		{name: "phone-dark", scheme: "dark", width: 360, height: 780, phone: true, rules: `, runOnly: ["color-contrast"]`},
	}
}

// tab is one page of the browser, on one console.
type tab struct {
	t        *testing.T
	ctx      context.Context
	base     string
	patience time.Duration // for one thing

	mu     sync.Mutex
	faults []string
	said   []string // by the browser, oldest first
}

// open opens a tab that knows no cookie of another and fails the test for what
// a person would find in the browser's console: errors, what the page's policy
// of content has blocked, and requests that leave the gateway.
func (w *world) open(t *testing.T) *tab {
	t.Helper()
	b := &tab{t: t, base: w.gate.Admin, patience: time.Minute}
	ctx, stop := chromedp.NewContext(w.browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.hear))
	b.ctx = ctx
	t.Cleanup(func() {
		stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Error(f)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // a tab lives as long as the context that it was opened with
		b.fatal(err)
	}
	b.look(looks()[0])
	return b
}

// step is something done in a tab.
type step = chromedp.Action[chromedp.Void]

// do runs steps in the tab.
func (b *tab) do(steps ...step) {
	b.t.Helper()
	if err := b.try(steps...); err != nil {
		b.fatal(err)
	}
}

// try runs steps, and gives up on a page that does not answer.
func (b *tab) try(steps ...step) error {
	ctx, stop := context.WithTimeout(b.ctx, b.patience)
	defer stop()
	return chromedp.Do(ctx, steps...)
}

// fatal ends the test with what the tab shows and what the browser has said.
func (b *tab) fatal(err error) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, min(b.patience, 5*time.Second))
	defer stop()
	at, _ := chromedp.Run(ctx, chromedp.Location())
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	b.t.Fatalf("%v\nat %s:\n%.2000s\nthe browser said:\n%s", err, at, text, b.heard())
}

// look sets the size and the colour scheme.
func (b *tab) look(l look) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.phone}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
}

// click clicks what is seen, wherever the page has moved it meanwhile.
func click(selector string) step {
	return chromedp.Steps(visible(selector), run(fmt.Sprintf("document.querySelector(%q).click()", selector)))
}

// run runs a script for what it does.
func run(script string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](script+"; true")(ctx, t)
		return err
	})
}
func visible(selector string) step { return chromedp.WaitVisible(chromedp.CSS(selector)) }
func ready(selector string) step   { return chromedp.WaitReady(chromedp.CSS(selector)) }

// typed gives a field the focus and types into it.
func typed(selector, text string) step {
	return chromedp.Steps(visible(selector), run(fmt.Sprintf("document.querySelector(%q).focus()", selector)), chromedp.KeyEvent(text))
}
func set(selector, value string) step { return chromedp.SetValue(chromedp.CSS(selector), value) }

// to goes to a page of the console.
func (b *tab) to(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), ready("footer"))
}

// login gives the token on the login page.
func (b *tab) login() {
	b.t.Helper()
	b.to("/login")
	b.do(typed("#token", token))
	b.follow("form[action='/login'] button")
	b.do(visible("nav[aria-label=Main]"))
}

// follow clicks, and returns when the next page is there.
func (b *tab) follow(selector string) {
	b.t.Helper()
	eval[bool](b, "window.left = true")
	b.do(click(selector))
	b.wait(`window.left === undefined && document.readyState === "complete"`)
}

// wait returns when a script's expression is true, in whatever document the tab
// shows by then. The browser is another process and pages go away under a
// question, so it is asked again.
func (b *tab) wait(expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, b.patience)
	defer stop()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && is {
			return
		}
		if ctx.Err() != nil {
			b.fatal(fmt.Errorf("wait for %s: %w", expression, errors.Join(err, context.DeadlineExceeded)))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// see returns when the page is whole and shows what a selector finds.
func (b *tab) see(selector string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`(() => { const e = document.querySelector(%q); return document.readyState === "complete" && !!e && e.getClientRects().length > 0; })()`, selector))
}

// drawing is held while a picture is taken: a window behind others may get no
// frame to take it of.
var drawing sync.Mutex

// again does what may be asked twice, and asks again where no answer comes.
func again[T any](b *tab, a chromedp.Action[T]) (out T, err error) {
	for range 4 {
		ctx, stop := context.WithTimeout(b.ctx, b.patience/4)
		out, err = chromedp.Run(ctx, a)
		stop()
		if between(err) {
			b.wait(`document.readyState === "complete"`)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return out, err
}

// between says that a call fell between two pages of the tab: one was left and
// the next is not there.
func between(err error) bool {
	return err != nil && strings.Contains(err.Error(), "Not attached to an active page")
}

// eval is the value of a script's expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := again(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fatal(fmt.Errorf("evaluate %.200s: %w", expression, err))
	}
	return out
}

// texts are the words of all elements that a selector finds.
func (b *tab) texts(selector string) []string {
	b.t.Helper()
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent.replace(/\s+/g, " ").trim())`, selector))
}

// text is the words of the first one.
func (b *tab) text(selector string) string {
	b.t.Helper()
	all := b.texts(selector)
	if len(all) == 0 {
		b.fatal(fmt.Errorf("nothing is %s", selector))
	}
	return all[0]
}

// at is where the tab is: path and query.
func (b *tab) at() string {
	b.t.Helper()
	return eval[string](b, "location.pathname + location.search")
}

// picture is one of the whole page, in front of others.
func picture(ctx context.Context, t *chromedp.Target) ([]byte, error) {
	if _, err := cdp.Call(ctx, t, page.BringToFront, cdp.Empty{}); err != nil {
		return nil, err
	}
	return chromedp.FullScreenshot(100)(ctx, t)
}

// shoot leaves a picture of the whole page in out/.
func (b *tab) shoot(name string) {
	b.t.Helper()
	drawing.Lock()
	defer drawing.Unlock()
	b.see("footer")
	png, err := again(b, picture)
	if err != nil {
		b.fatal(err)
	}
	if err := os.MkdirAll("out", 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("out", name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
