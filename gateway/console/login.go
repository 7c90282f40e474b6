package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// loginPage is what the login form shows.
type loginPage struct {
	Next  string // where to go then
	Wrong string // why the last try failed
}

func login(v *visit) error {
	next := local(v.r.URL.Query().Get("next"))
	if v.frame.In {
		http.Redirect(v.w, v.r, next, http.StatusSeeOther)
		return nil
	}
	return v.show("login", "Log in", loginPage{Next: next})
}

// enter checks the token that was typed in.
func enter(v *visit) error {
	s, next := v.c.sessions, local(v.r.PostForm.Get("next"))
	if wait := s.try(v.r.RemoteAddr, v.frame.Now); wait > 0 {
		seconds := int(wait/time.Second) + 1
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		return v.again(http.StatusTooManyRequests, next, "Too many wrong tokens. Try again in "+strconv.Itoa(seconds)+" s.")
	}
	if !v.c.api.Guard().Opens(strings.TrimSpace(v.r.PostForm.Get("token"))) {
		return v.again(http.StatusUnauthorized, next, "That is not the admin token.")
	}
	s.forgive(v.r.RemoteAddr)
	s.set(v.w, v.r, s.enter(v.frame.Now))
	http.Redirect(v.w, v.r, next, http.StatusSeeOther)
	return nil
}

func (v *visit) again(status int, next, why string) error {
	return v.showAs(status, "login", "Log in", loginPage{Next: next, Wrong: why})
}

func leave(v *visit) error {
	if c, err := v.r.Cookie(cookieName); err == nil {
		v.c.sessions.leave(c.Value)
	}
	v.c.sessions.set(v.w, v.r, v.c.sessions.newID())
	http.Redirect(v.w, v.r, "/login", http.StatusSeeOther)
	return nil
}

// local is an address of this console, the first page for anything else.
func local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(next, "/login") {
		return "/"
	}
	return next
}
