// Package gateway is the HTTP data plane: one request's way through decode,
// decide, dispatch, observe and reply, one file per stage.
//
// It owns sockets, headers, time limits and bytes. It must not know how a
// verdict comes about (package engine decides and records), what a provider's
// answer means (its provider does), how a protocol is spelled (its dialect
// does), which store keeps the ledger, or any provider by name.
package gateway
