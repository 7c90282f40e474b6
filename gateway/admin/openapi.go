package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/usage"
)

// openapi answers the description of the API, made from the table of routes and
// from the very types that the handlers write: it cannot disagree with them.
func (a *API) openapi(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	return answer(w, http.StatusOK, describe(a.o.Version))
}

type object = map[string]any

func describe(version string) object {
	paths := object{}
	add := func(path string, rt *route) {
		calls, _ := paths[path].(object)
		if calls == nil {
			calls = object{}
			paths[path] = calls
		}
		calls[strings.ToLower(rt.method)] = operation(rt)
	}
	for _, rt := range routes() {
		add(prefix+rt.path, &rt)
	}
	for _, rt := range outside() {
		add(rt.path, &rt)
	}
	return object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Waybill admin API", "version": version},
		"paths":    paths,
		"security": []object{{"token": []string{}}},
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"schemas":         object{"Problem": schema(reflect.TypeFor[Problem]())},
		},
	}
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func operation(rt *route) object {
	params := []object{}
	for _, m := range pathParam.FindAllStringSubmatch(rt.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range rt.doc.params {
		params = append(params, object{"name": p.name, "in": "query", "description": p.about, "schema": paramSchema(p.format)})
	}
	status := rt.doc.status
	if status == 0 {
		status = http.StatusOK
	}
	op := object{"operationId": operationID(rt), "summary": rt.doc.summary, "parameters": params, "responses": object{
		strconv.Itoa(status): object{"description": http.StatusText(status), "content": content(&rt.doc)},
		"default": object{"description": "a problem", "content": object{"application/problem+json": object{
			"schema": object{"$ref": "#/components/schemas/Problem"}}}},
	}}
	if rt.doc.open {
		op["security"] = []object{}
	}
	if rt.doc.body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schema(reflect.TypeOf(rt.doc.body))}}}
	}
	return op
}

// operationID names a call for those who make code of the description.
func operationID(rt *route) string {
	parts := strings.FieldsFunc(rt.path, func(c rune) bool { return !('a' <= c && c <= 'z') })
	return strings.ToLower(rt.method) + "_" + strings.Join(parts, "_")
}

func content(d *doc) object {
	if d.answer == nil {
		return object{d.media: object{}}
	}
	return object{"application/json": object{"schema": schema(reflect.TypeOf(d.answer))}}
}

func paramSchema(format string) object {
	switch format {
	case "integer":
		return object{"type": "integer"}
	case "string":
		return object{"type": "string"}
	}
	return object{"type": "string", "format": format}
}

// schema describes a type as encoding/json writes it.
func schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[events.Time]():
		return object{"type": []string{"string", "null"}, "format": "date-time"}
	case reflect.TypeFor[uuid.UUID]():
		return object{"type": "string", "format": "uuid"}
	case reflect.TypeFor[json.Number]():
		return object{"type": "number"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON: an event's data, by its type (docs/events.md); the fields of the policy block, or its YAML as a string; a message"}
	case reflect.TypeFor[map[string]string]():
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case reflect.TypeFor[usage.Tokens]():
		return object{"type": "integer", "description": "absent where no answer told it"}
	case reflect.TypeFor[events.Event]():
		return schema(reflect.TypeFor[eventShape]())
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := schema(t.Elem())
		return object{"anyOf": []object{s, {"type": "null"}}}
	case reflect.Slice:
		return object{"type": "array", "items": schema(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

// structSchema describes a struct's members; those that are left out when they
// are empty are not required.
func structSchema(t reflect.Type) object {
	props, required := object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner := structSchema(f.Type)
			for k, v := range inner["properties"].(object) {
				if _, taken := props[k]; !taken {
					props[k] = v
				}
			}
			required = append(required, inner["required"].([]string)...)
		case name != "" && name != "-":
			props[name] = schema(f.Type)
			if options == "" {
				required = append(required, name)
			}
		}
	}
	return object{"type": "object", "properties": props, "required": required}
}
