package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/projections/routing"
)

// listModels answers from what is routable: every id that is listed can be
// asked for as it stands, and goes to the accounts that it stands for (B154).
func (x *exchange) listModels() {
	names := slices.DeleteFunc(x.routable(), func(m string) bool { return !x.mayUse(m) })
	wanted := strings.TrimPrefix(x.vars["model"], "models/")
	if wanted == "" {
		x.sendJSON(dialect.ModelList(x.speaks, names))
		return
	}
	if !slices.Contains(names, wanted) {
		x.req.Model = wanted
		x.turnAway(dialect.Refusal{Code: routing.CodeNoModel, Status: http.StatusNotFound, Param: "model", Message: "no account serves the model " + strconv.Quote(wanted)})
		return
	}
	x.sendJSON(dialect.Model(x.speaks, wanted))
}

// routable are the names that clients of a dialect can ask for, sorted: the
// configured models that some account serves, or, where none are configured,
// the names that accounts list.
func (x *exchange) routable() []string {
	g, d := x.g, x.speaks
	names, ask := g.listed(d)
	if len(ask) > 0 {
		names = append(names, g.ask(x.r.Context(), x.cfg, ask, d)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	g.engine.View(func(v routing.View, _ events.Position, _ events.Time) {
		nobody, _ := routing.RouteOf(v, events.DialectNone, "")
		names = slices.DeleteFunc(names, func(name string) bool {
			route, _ := routing.RouteOf(v, d, name)
			return route == nobody
		})
	})
	return names
}

// listed are the names that stand somewhere in full, and the accounts that
// have to be asked for theirs.
func (g *Gateway) listed(d events.Dialect) (names, ask []string) {
	g.engine.View(func(v routing.View, _ events.Position, _ events.Time) {
		doc, _ := v.Admission.Document()
		for i := range doc.Models {
			names = append(names, doc.Models[i].Name)
		}
		if len(names) > 0 {
			return
		}
		for _, a := range v.Admission.Roster() {
			if a.Retired || !slices.Contains(a.Settings.Dialects, d) {
				continue
			}
			full := exact(a.Settings.Models)
			if len(a.Settings.Models) == 0 {
				full = exact(a.Settings.Known)
			}
			if names = append(names, full...); len(full) == 0 {
				ask = append(ask, a.ID)
			}
		}
	})
	return names, ask
}

// exact are the globs that are names.
func exact(globs []string) (names []string) {
	for _, glob := range globs {
		if !strings.ContainsAny(glob, "*?[") {
			names = append(names, glob)
		}
	}
	return names
}

func (x *exchange) sendJSON(b []byte) {
	x.w.Header()["Content-Type"] = []string{"application/json"}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	x.status, x.end = http.StatusOK, endServed
	x.w.WriteHeader(http.StatusOK)
	n, _ := x.w.Write(b)
	x.sent += int64(n)
}
