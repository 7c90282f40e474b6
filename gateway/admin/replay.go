package admin

import (
	"encoding/json"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/projections/whatif"
)

// replayAsk is the body of POST /replay. Policy holds fields of the `policy:`
// block, as JSON or as YAML in a string.
type replayAsk struct {
	Policy json.RawMessage `json:"policy"`
	Since  events.Time     `json:"since"`
	Until  events.Time     `json:"until"`
}

// replay plays recorded traffic under another policy.
func (a *API) replay(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	b, err := body(r)
	if err != nil {
		return err
	}
	var ask replayAsk
	if err := json.Unmarshal(b, &ask); err != nil || len(ask.Policy) == 0 {
		return problemf(http.StatusBadRequest, `the body is no JSON object such as {"policy": {"park_cap": "5m"}}`)
	}
	text := []byte(ask.Policy)
	var yaml string
	if json.Unmarshal(ask.Policy, &yaml) == nil {
		text = []byte(yaml)
	}
	o := whatif.Options{Since: ask.Since, Until: ask.Until}
	if o.Change, err = Policy(text); err != nil {
		return err
	}
	out, err := a.Replay(r.Context(), o, nil)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// Policy reads the fields that a replay changes.
func Policy(text []byte) (func(*events.Policy), error) {
	change, err := config.PolicyChange("policy", text, nil)
	if err != nil {
		return nil, problemf(http.StatusUnprocessableEntity, "%s", err)
	}
	return change, nil
}
