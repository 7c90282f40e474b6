package console

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func loginAndOut(t *testing.T, w *world) {
	b := w.open(t)
	b.to("/accounts/qwen-plan")
	if !strings.HasPrefix(b.at(), "/login?next=") || len(b.texts("nav[aria-label=Main]")) != 0 {
		t.Fatalf("without a token one comes to %s", b.at())
	}
	b.do(typed("#token", "wrong"))
	b.follow("form[action='/login'] button")
	if b.text("#wrong") != "That is not the admin token." {
		t.Errorf("%q", b.text("#wrong"))
	}
	b.do(typed("#token", token))
	b.follow("form[action='/login'] button")
	if b.at() != "/accounts/qwen-plan" {
		t.Errorf("the login led to %s", b.at())
	}
	b.follow("#logout")
	b.to("/")
	if !strings.HasPrefix(b.at(), "/login") {
		t.Errorf("logged out, and still at %s", b.at())
	}
}

// operate drains an account through the form, and takes it back.
func operate(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	b.to("/accounts/openai-team")
	b.do(click("#do-drain summary"), visible("#drain-send"), click("#drain-send"))
	if eval[bool](b, `document.querySelector("#drain-reason").validity.valid`) || b.at() != "/accounts/openai-team" {
		t.Errorf("it may be drained without a reason: %s", b.at())
	}
	b.do(typed("#drain-reason", "its key is rotated <b>tonight</b>"))
	b.follow("#drain-send")
	if state := eval[string](b, `document.querySelector("#live .badge").dataset.state`); state != "drained" {
		t.Errorf("the account is %s", state)
	}
	if why := b.text("#why .sentence"); !strings.Contains(why, "operator admin drained it") || !strings.Contains(why, "its key is rotated <b>tonight</b>") {
		t.Errorf("it is explained by %q", why)
	}
	b.follow("#recorded a")
	if sum := b.text("#summary"); !strings.Contains(sum, "drained by operator admin: its key is rotated <b>tonight</b>") {
		t.Errorf("the event reads %q", sum)
	}
	b.follow("#main dl a[href='/accounts/openai-team']")
	b.do(click("#do-undrain summary"), visible("#undrain-send"), typed("#undrain-reason", "done"))
	b.follow("#undrain-send")
	if state := eval[string](b, `document.querySelector("#live .badge").dataset.state`); state == "drained" {
		t.Error("it is still drained")
	}
}

// hangs is a tab that never answers: what is asked of it ends, and what the
// browser said before is known.
func hangs(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	b.patience = time.Second
	if err := b.try(run(`console.info("before it hangs"); for (;;);`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a page that never answers is given up with %v", err)
	}
	if heard := b.heard(); !strings.Contains(heard, "before it hangs") || !strings.Contains(heard, "got 200 for "+b.base) {
		t.Errorf("of what the browser said this is left:\n%s", heard)
	}
}

// follows sees an account be parked, and a request be served, on a page that
// nobody reloads.
func follows(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	b.to("/")
	b.do(visible("#live-switch"))
	eval[bool](b, "window.sameDocument = true")
	w.ask(t, "POST", "/accounts/grok-build/park", map[string]any{"reason": "while somebody looks", "for": "2h"}, nil)
	b.wait(`document.querySelector("li.account[data-account=grok-build]").dataset.state === "parked"`)
	if why := b.text("li.account[data-account=grok-build] .sentence"); !strings.Contains(why, "while somebody looks") {
		t.Errorf("it is explained by %q", why)
	}
	before := eval[string](b, `document.querySelector("#live").dataset.position`)
	id := w.chat(t)
	b.wait(`document.querySelector("#live").dataset.position !== "` + before + `"`)
	if !eval[bool](b, "window.sameDocument === true") {
		t.Error("the page was loaded anew")
	}
	b.to("/requests/" + id)
	if story := b.text("#story .sentence"); !strings.Contains(story, "was served with 200") {
		t.Errorf("%s", story)
	}
}
