package admin

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"
)

// served are the calls that the router takes, as "METHOD /path".
func served(t *testing.T) (out []string) {
	t.Helper()
	a := New(Options{Metrics: http.NotFoundHandler()})
	err := a.router().(*mux.Router).Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := r.GetPathTemplate()
		if err != nil {
			return err
		}
		methods, _ := r.GetMethods() // none: what answers all other methods
		for _, m := range methods {
			if m != http.MethodHead {
				out = append(out, m+" "+path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestEveryCallIsDescribedAndEveryDescriptionIsOfACall(t *testing.T) {
	var described []string
	names := map[any]bool{}
	for path, calls := range describe("test")["paths"].(object) {
		for method, op := range calls.(object) {
			described = append(described, strings.ToUpper(method)+" "+path)
			names[op.(object)["operationId"]] = true
		}
	}
	if len(names) != len(described) {
		t.Errorf("%d names of %d calls", len(names), len(described))
	}
	slices.Sort(described)
	if got := served(t); !slices.Equal(got, described) {
		t.Errorf("served:    %v\ndescribed: %v", got, described)
	}
}
