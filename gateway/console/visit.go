package console

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/inquiry"
)

// policyOfContent lets a page load from its own address only, and run nothing
// that is written into it.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// visit is one request for a page.
type visit struct {
	c     *Console
	w     http.ResponseWriter
	r     *http.Request
	frame frame
}

// page serves to those who have logged in.
func (c *Console) page(serve func(*visit) error) http.Handler {
	return c.open(func(v *visit) error {
		if !v.frame.In {
			return v.toLogin()
		}
		return serve(v)
	})
}

// open serves to everybody who may reach the console at all.
func (c *Console) open(serve func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admin.Harden(w.Header())
		w.Header().Set("Content-Security-Policy", policyOfContent)
		v := &visit{c: c, w: w, r: r}
		err := v.admit()
		if err == nil {
			err = serve(v)
		}
		if err != nil {
			v.fail(err)
		}
	})
}

// admit checks where a request comes from, finds its session and its instant.
func (v *visit) admit() error {
	guard := v.c.api.Guard()
	v.begin()
	if err := guard.Local(v.r); err != nil {
		return err
	}
	if !followed(v.r) {
		if err := guard.SameSite(v.r); err != nil {
			return err
		}
	}
	id := v.c.sessions.cookie(v.w, v.r)
	v.frame.CSRF = v.c.sessions.csrf(id)
	v.frame.Token = guard.Token()
	v.frame.In = !guard.Token() || v.c.sessions.in(id, v.frame.Now)
	if v.r.Method == http.MethodPost {
		if err := v.form(id); err != nil {
			return err
		}
	}
	if !v.frame.In {
		return nil
	}
	if _, err := url.ParseQuery(v.r.URL.RawQuery); err != nil {
		return badRequest("What follows the ? of this address cannot be read, so it would filter nothing: " + err.Error() + ".")
	}
	return v.at()
}

// followed says whether a person followed a link to here: such a request may
// come from anywhere, it changes nothing and the page it came from sees nothing.
func followed(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

const maxForm = 1 << 20

// form reads a posted form and holds its token against the session's.
func (v *visit) form(id string) error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return badRequest("The form could not be read: " + err.Error())
	}
	if !v.c.sessions.genuine(id, v.r.PostForm.Get("csrf")) {
		return &admin.Problem{Status: http.StatusForbidden, Title: "This form has expired",
			Detail: "The form does not belong to this browser's session. Go back, reload the page and send it again."}
	}
	return nil
}

// at reads the instant that the page is as of.
func (v *visit) at() error {
	f := &v.frame
	t, err := inquiry.When(v.r.URL.Query().Get("at"), f.Now)
	if err != nil {
		return badRequest(err.Error())
	}
	if inquiry.Come(t, f.Now) != nil {
		return badRequest("That instant has not come yet: the ledger holds the past.")
	}
	f.At = t
	if f.First, err = v.c.start.of(v.r.Context(), v.c.api); err != nil && admin.ProblemOf(err).Status != http.StatusServiceUnavailable {
		return err // a ledger that is away is told where it is asked
	}
	return nil
}

// moment is what the views are asked for.
func (v *visit) moment() (m inquiry.Moment, past bool) {
	return inquiry.Moment{Time: v.frame.At, Now: v.frame.Now}, v.frame.At != 0
}

// show renders a page.
func (v *visit) show(page, title string, body any) error {
	return v.showAs(http.StatusOK, page, title, body)
}

// showAs renders a page that answers with a status of its own.
func (v *visit) showAs(status int, page, title string, body any) error {
	v.frame.Title, v.frame.Body = title, body
	return v.write(status, page, "layout")
}

// part renders one block of a page, for a page that is open already.
func (v *visit) part(page, block string, body any) error {
	v.frame.Body = body
	return v.write(http.StatusOK, page, block)
}

func (v *visit) write(status int, page, block string) error {
	var b bytes.Buffer
	if err := v.c.pages.render(&b, page, block, &v.frame); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // the reader's loss
	return nil
}

// fail shows an error as a page.
func (v *visit) fail(err error) {
	p := admin.ProblemOf(err)
	if p.Status >= 500 && v.r.Context().Err() == nil {
		v.c.log.Warn("console page failed", "path", v.r.URL.Path, "status", p.Status, "error", err)
	}
	v.frame.Title, v.frame.Body = p.Title, p
	block := "layout"
	if v.partial() {
		block = "main"
	}
	if err := v.write(p.Status, "failed", block); err != nil {
		http.Error(v.w, p.Detail, p.Status)
	}
}

// partial says whether htmx asks for a block.
func (v *visit) partial() bool { return v.r.Header.Get("HX-Request") == "true" }

// to goes to another page, keeping the instant.
func (v *visit) to(path string, pairs ...string) error {
	http.Redirect(v.w, v.r, v.frame.URL(path, pairs...), http.StatusSeeOther)
	return nil
}

// toLogin asks for the token, and comes back here.
func (v *visit) toLogin() error {
	next := "/"
	if v.r.Method == http.MethodGet {
		next = v.r.URL.RequestURI()
	}
	where := "/login?" + url.Values{"next": {next}}.Encode()
	if v.partial() {
		v.w.Header().Set("HX-Redirect", "/login")
		v.w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	http.Redirect(v.w, v.r, where, http.StatusSeeOther)
	return nil
}

// begin fills what every page shows.
func (v *visit) begin() {
	f := &v.frame
	f.About, f.Version, f.Base, f.Path, f.Now = v.c.api.About(), v.c.api.Version(), v.c.pages.base, v.r.URL.Path, v.c.api.Now()
	for name, values := range v.r.URL.Query() {
		if slices.Contains([]string{"at", "before", "after", "recorded", "seen", "next"}, name) {
			continue
		}
		for _, value := range values {
			f.Kept = append(f.Kept, pair{name, value})
		}
	}
	slices.SortFunc(f.Kept, func(a, b pair) int { return strings.Compare(a.Name+"="+a.Value, b.Name+"="+b.Value) })
	if n := v.r.URL.Query().Get("recorded"); n != "" {
		f.Recorded, _ = position(n)
	}
}

// pair is a parameter of an address.
type pair struct{ Name, Value string }

// frame is what every page has: Body is the page's own.
type frame struct {
	Title    string
	About    admin.About
	Version  string
	Base     string // of the embedded files
	Path     string
	Kept     []pair // parameters that the time bar carries on
	CSRF     string
	Token    bool            // a token is asked for
	In       bool            // and was given
	Now      events.Time     // the gateway's clock
	At       events.Time     // the instant that the page is as of; 0: now
	First    events.Time     // when the ledger begins
	Recorded events.Position // the event that a form has just appended
	Body     any
}
