// Package when is the one reader of times that providers state: in headers, in
// bodies and in prose. It turns text into an instant by the limits of R19 and
// knows nothing of providers, classes or parks. It never asks a clock: the
// instant of the answer is an argument.
//
// Forms: RFC 3339 with any offset, fraction or letter case; HTTP dates (read
// relative to the answer's own Date header); epoch seconds, milliseconds and
// microseconds, told apart by magnitude with one table; Go and protobuf
// durations; durations with spaces and words ("1h 2m 3s", "5 minutes");
// seconds. A number below 1e9 is a duration, a larger one an instant.
package when
