package console

import (
	"github.com/google/uuid"
	"github.com/gorilla/mux"

	"github.com/waybill/waybill/projections/story"
)

// requestPage is the whole story of one request.
type requestPage struct {
	story.Request
}

// Agrees says whether deriving the decisions again came to the same.
func (p requestPage) Agrees() bool { return p.Replay.Identical != nil && *p.Replay.Identical }

func request(v *visit) error {
	id, err := uuid.Parse(mux.Vars(v.r)["id"])
	if err != nil {
		return badRequest("A request id is a UUID, as Waybill-Request-Id has it.")
	}
	m, _ := v.moment()
	s, err := v.c.api.Story(v.r.Context(), m, id)
	if err != nil {
		return err
	}
	return v.show("request", "Request "+short(id), requestPage{s})
}
