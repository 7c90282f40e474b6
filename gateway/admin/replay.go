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
	Since  events.Time     `json:"since,omitempty"`
	Until  events.Time     `json:"until,omitempty"`
}

// replay plays recorded traffic under another policy.
func (a *API) replay(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	var ask replayAsk
	const example = `{"policy": {"park_cap": "5m"}}`
	if err := decode(r, &ask, example); err != nil {
		return err
	}
	if len(ask.Policy) == 0 {
		return problemf(http.StatusBadRequest, "the body names no policy: want %s", example)
	}
	if ask.Since != 0 && ask.Until != 0 && ask.Since >= ask.Until {
		return problemf(http.StatusBadRequest, "until is not after since: nothing lies between them")
	}
	text := []byte(ask.Policy)
	var yaml string
	if json.Unmarshal(ask.Policy, &yaml) == nil {
		text = []byte(yaml)
	}
	change, err := Policy(text)
	if err != nil {
		return err
	}
	out, err := a.Replay(r.Context(), whatif.Options{Change: change, Since: ask.Since, Until: ask.Until}, nil)
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
