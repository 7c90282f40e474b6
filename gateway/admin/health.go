package admin

import "net/http"

// healthz: the process answers. It needs no token and names nothing.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) {
	Harden(w.Header())
	write(w, http.StatusOK, "application/json", alive{"ok"})
}

// alive is what healthz answers.
type alive struct {
	Status string `json:"status"`
}

// readiness is what readyz answers.
type readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// readyz: whether the gateway can do its work now, and what is missing.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	Harden(w.Header())
	out := readiness{Ready: true, Checks: []Check{}}
	if a.o.Ready != nil {
		out.Checks = append(out.Checks, a.o.Ready(r.Context())...)
	}
	status := http.StatusOK
	for _, c := range out.Checks {
		if !c.OK {
			out.Ready, status = false, http.StatusServiceUnavailable
		}
	}
	write(w, status, "application/json", out)
}
