package admin

import (
	_ "embed"
	"html/template"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

//go:embed landing.html
var landingHTML string

var landingPage = template.Must(template.New("landing").Parse(landingHTML))

// landed is what the landing page shows.
type landed struct {
	About
	Version  string
	Position events.Position
	Accounts []landedAccount
	Routes   []landedRoute
}

type landedAccount struct{ ID, Provider, State, Sentence string }

type landedRoute struct{ Method, Path, Summary string }

// landing says where things are, and how the accounts stand.
func (a *API) landing(w http.ResponseWriter, r *http.Request) error {
	page := landed{About: a.o.About, Version: a.o.Version}
	a.o.Engine.View(func(_ routing.View, at events.Position, _ events.Time) { page.Position = at })
	all, err := a.live(r.Context(), "", "")
	if err != nil {
		return err
	}
	for i := range all {
		page.Accounts = append(page.Accounts, landedAccount{all[i].ID, all[i].Provider, all[i].State, all[i].Verdict.Sentence})
	}
	for _, rt := range routes() {
		page.Routes = append(page.Routes, landedRoute{rt.method, prefix + rt.path, rt.doc.summary})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return landingPage.Execute(w, page)
}
