package sandbox

import (
	"bytes"
	"encoding/json"
	"sort"

	"github.com/waybill/waybill/events"
)

// tool is a function that the client offers, with arguments made up from its
// schema.
type tool struct {
	name string
	args string // a JSON object
}

// schema is as much of JSON Schema as is needed to make up a value.
type schema struct {
	Type       json.RawMessage   `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
}

// offer is one tool of any dialect.
type offer struct {
	Name        string  `json:"name"`
	Parameters  *schema `json:"parameters"`
	InputSchema *schema `json:"input_schema"`
	Function    *offer  `json:"function"`
	Declared    []offer `json:"functionDeclarations"`
	DeclaredOld []offer `json:"function_declarations"`
}

// wantedTool is the tool that a script would call: the first one offered, unless
// the client has just brought a result or wants none.
func (c *call) wantedTool() *tool {
	if bytes.Contains(c.body.ToolChoice, []byte(`"none"`)) || c.broughtResult() {
		return nil
	}
	for _, raw := range c.body.Tools {
		var o offer
		if json.Unmarshal(raw, &o) != nil {
			continue
		}
		if t := o.first(); t != nil {
			return t
		}
	}
	return nil
}

func (o *offer) first() *tool {
	if o.Function != nil {
		return o.Function.first()
	}
	if declared := append(o.Declared, o.DeclaredOld...); len(declared) > 0 {
		return declared[0].first()
	}
	if o.Name == "" {
		return nil
	}
	s := o.Parameters
	if s == nil {
		s = o.InputSchema
	}
	if s == nil {
		s = &schema{}
	}
	args, err := json.Marshal(s.object())
	if err != nil {
		return nil
	}
	return &tool{name: o.Name, args: string(args)}
}

// broughtResult says that the last message is the result of a tool.
func (c *call) broughtResult() bool {
	switch {
	case c.dialect == events.DialectGemini && len(c.body.Contents) > 0:
		return bytes.Contains(c.body.Contents[len(c.body.Contents)-1].Parts, []byte("unctionResponse"))
	case len(c.body.Messages) > 0:
		last := c.body.Messages[len(c.body.Messages)-1]
		return last.Role == "tool" || last.Role == "function" || bytes.Contains(last.Content, []byte(`"tool_result"`))
	}
	return bytes.Contains(c.body.Input, []byte(`"function_call_output"`))
}

// object makes up the required members of an object, or all if none is required.
func (s *schema) object() object {
	names := s.Required
	if len(names) == 0 {
		for name := range s.Properties {
			names = append(names, name)
		}
		sort.Strings(names)
	}
	out := object{}
	for _, name := range names {
		p := s.Properties[name]
		out[name] = p.value(4)
	}
	return out
}

// value makes up a value; depth bounds recursive schemas.
func (s *schema) value(depth int) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch kind := string(bytes.ToLower(s.Type)); {
	case depth == 0:
		return nil
	case kind == `"integer"`, kind == `"number"`:
		return 1
	case kind == `"boolean"`:
		return true
	case kind == `"array"`:
		if s.Items == nil {
			return []any{}
		}
		return []any{s.Items.value(depth - 1)}
	case kind == `"object"`:
		out := object{}
		for name, p := range s.Properties {
			out[name] = p.value(depth - 1)
		}
		return out
	}
	return "sandbox"
}
