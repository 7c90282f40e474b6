package dialect

import "fmt"

// Error is a request that Waybill refuses by itself because of what it is; the
// edge writes it as a Refusal.
type Error struct {
	Status  int
	Code    string // invalid_request, body_too_large, unsupported_encoding
	Param   string // the member at fault, "" when none
	Message string
}

func (e *Error) Error() string { return e.Message }

func invalid(param, format string, args ...any) *Error {
	return &Error{Status: 400, Code: "invalid_request", Param: param, Message: fmt.Sprintf(format, args...)}
}
