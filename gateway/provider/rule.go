package provider

// Rule is one row of a classifier table. Phrases are data with a source and a
// date; the row's id names it in events, tests and `why`.
type Rule struct {
	ID string
}

// Preset is a usage or balance endpoint and the pure decoder of its answer.
type Preset struct {
	Name string
}

// Classify says what an answer means, by this provider's table.
func (p *Provider) Classify(a Answer) Finding { return Finding{} }
