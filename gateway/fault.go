package gateway

import (
	"fmt"
	"runtime"
	"strings"
)

// faultText names a panic without what a request may have put into it: a
// runtime error says what it is, anything else only its type.
func faultText(fault any) string {
	if err, ok := fault.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", fault)
}

// stack is where a panic came from: functions and lines, no arguments.
func stack() string {
	pcs := make([]uintptr, 24)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s:%d ", f.Function, f.Line)
		if !more {
			return b.String()
		}
	}
}
