package gateway

import (
	"encoding/json"
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
		x.sendJSON(modelList(x.speaks, names))
		return
	}
	if !slices.Contains(names, wanted) {
		x.req.Model = wanted
		x.turnAway(dialect.Refusal{Code: routing.CodeNoModel, Status: http.StatusNotFound, Param: "model", Message: "no account serves the model " + strconv.Quote(wanted)})
		return
	}
	x.sendJSON(modelOf(x.speaks, wanted))
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

type openAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

type anthropicModel struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

type geminiModel struct {
	Name        string   `json:"name"`
	DisplayName string   `json:"displayName"`
	Methods     []string `json:"supportedGenerationMethods"`
}

// modelOf is one model in the dialect's shape. Nothing is claimed about it but
// that it can be asked for.
func modelOf(d events.Dialect, id string) any {
	switch d {
	case events.DialectAnthropic:
		return anthropicModel{Type: "model", ID: id, DisplayName: id, CreatedAt: "1970-01-01T00:00:00Z"}
	case events.DialectGemini:
		return geminiModel{Name: "models/" + id, DisplayName: id, Methods: []string{"generateContent", "streamGenerateContent", "countTokens"}}
	}
	return openAIModel{ID: id, Object: "model", OwnedBy: "waybill"}
}

func modelList(d events.Dialect, ids []string) any {
	models := make([]any, len(ids))
	for i, id := range ids {
		models[i] = modelOf(d, id)
	}
	switch d {
	case events.DialectAnthropic:
		page := map[string]any{"data": models, "has_more": false, "first_id": nil, "last_id": nil}
		if n := len(ids); n > 0 {
			page["first_id"], page["last_id"] = ids[0], ids[n-1]
		}
		return page
	case events.DialectGemini:
		return map[string]any{"models": models}
	}
	return map[string]any{"object": "list", "data": models}
}

func (x *exchange) sendJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs of strings
	}
	x.w.Header()["Content-Type"] = []string{"application/json"}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	x.status, x.end = http.StatusOK, endServed
	x.w.WriteHeader(http.StatusOK)
	n, _ := x.w.Write(b)
	x.sent += int64(n)
}
