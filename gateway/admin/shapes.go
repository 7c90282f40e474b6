package admin

import (
	"encoding/json"

	"github.com/waybill/waybill/events"
)

// What the description needs and no handler has as a type: the bodies that
// others read, and events as events.AppendJSON writes them.

// readingBody is the shape that quota.Push reads.
type readingBody struct {
	Source     string          `json:"source,omitempty"`
	ObservedAt events.Time     `json:"observed_at,omitempty"`
	Coverage   []string        `json:"coverage,omitempty"`
	Windows    []readingWindow `json:"windows,omitempty"`
	Credit     *readingCredit  `json:"credit,omitempty"`
	Billing    *readingBilling `json:"billing,omitempty"`
}

type readingWindow struct {
	Name             string      `json:"name"`
	Scope            string      `json:"scope,omitempty"`
	LengthS          float64     `json:"length_s,omitempty"`
	Used             float64     `json:"used,omitempty"`
	Limit            float64     `json:"limit,omitempty"`
	UsedPercent      float64     `json:"used_percent,omitempty"`
	RemainingPercent float64     `json:"remaining_percent,omitempty"`
	Reached          bool        `json:"reached,omitempty"`
	ResetsAt         events.Time `json:"resets_at,omitempty"`
	Reported         bool        `json:"reported,omitempty"`
}

type readingCredit struct {
	Reached     bool           `json:"reached,omitempty"`
	Available   bool           `json:"available,omitempty"`
	Used        float64        `json:"used,omitempty"`
	Limit       float64        `json:"limit,omitempty"`
	UsedPercent float64        `json:"used_percent,omitempty"`
	ResetsAt    events.Time    `json:"resets_at,omitempty"`
	Models      []readingModel `json:"models,omitempty"`
}

type readingModel struct {
	Model              string `json:"model"`
	Available          bool   `json:"available,omitempty"`
	CreditsWouldEnable bool   `json:"credits_would_enable,omitempty"`
}

type readingBilling struct {
	Plan      string      `json:"plan,omitempty"`
	PeriodEnd events.Time `json:"period_end,omitempty"`
}

// eventShape is an event as stored. Data belongs to the type; docs/events.md
// lists all types. An event of a newer binary has raw and codec instead.
type eventShape struct {
	Position   events.Position `json:"position"`
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Version    uint16          `json:"version"`
	Writer     string          `json:"writer"`
	WriterSeq  uint64          `json:"writer_seq"`
	ObservedAt events.Time     `json:"observed_at"`
	RecordedAt events.Time     `json:"recorded_at"`
	Account    string          `json:"account,omitempty"`
	Epoch      string          `json:"epoch,omitempty"`
	Model      string          `json:"model,omitempty"`
	Request    string          `json:"request,omitempty"`
	Attempt    uint32          `json:"attempt,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Codec      uint8           `json:"codec,omitempty"`
	Raw        string          `json:"raw,omitempty"`
	Hash       string          `json:"hash"`
}
