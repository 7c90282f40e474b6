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
)

// openapi answers the description of the API, made from the table of routes and
// from the very types that the handlers write: it cannot disagree with them.
func (a *API) openapi(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, describe(a.o.Version))
}

type object = map[string]any

func describe(version string) object {
	paths := object{}
	for _, rt := range routes() {
		path, _ := paths[prefix+rt.path].(object)
		if path == nil {
			path = object{}
			paths[prefix+rt.path] = path
		}
		path[strings.ToLower(rt.method)] = operation(&rt)
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
	op := object{"summary": rt.doc.summary, "parameters": params, "responses": object{
		strconv.Itoa(status): object{"description": http.StatusText(status), "content": content(&rt.doc)},
		"default": object{"description": "a problem", "content": object{"application/problem+json": object{
			"schema": object{"$ref": "#/components/schemas/Problem"}}}},
	}}
	if rt.doc.body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schema(reflect.TypeOf(rt.doc.body))}}}
	}
	return op
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
		return object{"description": "any JSON: the fields of the policy block, or its YAML as a string; the body of a message"}
	case reflect.TypeFor[map[string]string]():
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case reflect.TypeFor[events.Event]():
		return object{"type": "object", "description": "an event as stored; docs/events.md lists the types"}
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

func structSchema(t reflect.Type) object {
	props := object{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for k, v := range structSchema(f.Type)["properties"].(object) {
				if _, taken := props[k]; !taken {
					props[k] = v
				}
			}
		case name != "" && name != "-":
			props[name] = schema(f.Type)
		}
	}
	return object{"type": "object", "properties": props}
}
