package dialect

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// tokens collects an answer's usage as its dialect counts. A later number
// replaces an earlier one (streams repeat running totals); null and {} replace
// nothing, and an explicit zero is a number (B103).
type tokens struct {
	input, cached, written, output, reasoning, tool, total events.OptInt
	fresh                                                  bool // a count was read that usage has not told yet
}

// keepNumber bounds the text of a token count.
const keepNumber = 24

// usageRow says which count a member of a usage object is.
type usageRow struct {
	group string // key of the object that holds it, "" for the usage object itself
	name  string
	into  func(t *tokens) *events.OptInt
}

func input(t *tokens) *events.OptInt     { return &t.input }
func cached(t *tokens) *events.OptInt    { return &t.cached }
func written(t *tokens) *events.OptInt   { return &t.written }
func output(t *tokens) *events.OptInt    { return &t.output }
func reasoning(t *tokens) *events.OptInt { return &t.reasoning }
func tool(t *tokens) *events.OptInt      { return &t.tool }
func total(t *tokens) *events.OptInt     { return &t.total }

// openAICounts are the spellings of OpenAI's chat and Responses APIs, and of
// those that speak like it: DeepSeek's prompt_cache_hit_tokens, Moonshot's
// cached_tokens. A later row wins over an earlier one.
var openAICounts = [...]usageRow{
	{"", "prompt_tokens", input}, {"", "input_tokens", input},
	{"", "completion_tokens", output}, {"", "output_tokens", output},
	{"", "total_tokens", total},
	{"", "prompt_cache_hit_tokens", cached}, {"", "cached_tokens", cached},
	{"prompt_tokens_details", "cached_tokens", cached}, {"prompt_tokens_details", "cache_write_tokens", written},
	{"input_tokens_details", "cached_tokens", cached}, {"input_tokens_details", "cache_write_tokens", written},
	{"completion_tokens_details", "reasoning_tokens", reasoning}, {"output_tokens_details", "reasoning_tokens", reasoning},
}

var anthropicCounts = [...]usageRow{
	{"", "input_tokens", input}, {"", "cache_read_input_tokens", cached},
	{"", "cache_creation_input_tokens", written}, {"", "output_tokens", output},
}

var geminiCounts = [...]usageRow{
	{"", "promptTokenCount", input}, {"", "cachedContentTokenCount", cached},
	{"", "candidatesTokenCount", output}, {"", "thoughtsTokenCount", reasoning},
	{"", "toolUsePromptTokenCount", tool},
}

// usageFields are the fields of one usage object in a shape.
type usageFields struct {
	object int
	first  int // of the counts, in the order of rows
	rows   []usageRow
}

// addUsage appends the fields of a usage object to a shape in the making.
func addUsage(fields []jsonscan.Field, parent int, name string, rows []usageRow) ([]jsonscan.Field, usageFields) {
	u := usageFields{object: len(fields), rows: rows}
	fields = append(fields, jsonscan.Field{Parent: parent, Name: name})
	groups := map[string]int{"": u.object}
	for _, r := range rows {
		if _, ok := groups[r.group]; !ok {
			groups[r.group] = len(fields)
			fields = append(fields, jsonscan.Field{Parent: u.object, Name: r.group})
		}
	}
	u.first = len(fields)
	for _, r := range rows {
		fields = append(fields, jsonscan.Field{Parent: groups[r.group], Name: r.name, Keep: keepNumber})
	}
	return fields, u
}

// take reads the counts of a scanned frame.
func (t *tokens) take(s *jsonscan.Scanner, u *usageFields) {
	if s.Member(u.object).Kind != jsonscan.Object {
		return
	}
	for i, r := range u.rows {
		if v, ok := s.Int(u.first + i); ok {
			*r.into(t), t.fresh = events.Int(v), true
		}
	}
}

// none says that no count was seen: unknown, which is not zero.
func (t *tokens) none() bool { return *t == tokens{} }

// usage is the counts in the ledger's terms: Input is all input, Output all
// output, whatever the dialect counts apart.
func (t *tokens) usage(d events.Dialect, u *events.Usage) {
	*u = events.Usage{Input: t.input, CachedInput: t.cached, CacheWrite: t.written, Output: t.output, Reasoning: t.reasoning}
	switch d {
	case events.DialectAnthropic:
		// The three are disjoint there (B101). Without the first the prompt is
		// unknown (B104).
		u.Input = sum(t.input, t.cached, t.written)
	case events.DialectGemini:
		u.Input = sum(t.input, t.tool)
		if u.Output = sum(t.output, t.reasoning); !t.output.Set {
			u.Output = t.reasoning
		}
	default:
		if t.reasoning.V > 0 && t.input.Set && t.total.V == t.input.V+t.output.V+t.reasoning.V {
			u.Output.V += t.reasoning.V // xAI counts reasoning beside completion_tokens
		}
	}
}

// sum adds what is known to first; without first nothing is known.
func sum(first events.OptInt, rest ...events.OptInt) events.OptInt {
	if first.Set {
		for _, r := range rest {
			first.V += r.V
		}
	}
	return first
}
