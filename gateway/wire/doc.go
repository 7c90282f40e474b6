// Package wire reaches endpoints: connection pools, dialling and one round trip
// at a time. It knows sockets and HTTP framing; it must not know what is asked,
// what an answer means, or which account it is for.
package wire
