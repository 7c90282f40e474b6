// Package events holds everything Waybill remembers: the envelope, the sealed
// set of payloads, and the one codec that turns them into stored bytes, into
// canonical JSON and back.
//
// An event is a fact. Nothing derived (parked, healthy, exhausted, paid) is
// ever in one; that is what package projections is for. No payload carries a
// prompt, a completion, a credential or a header value that could be a secret.
//
// The package imports nothing of ours and knows no clock, disk or network:
// times come in as arguments.
package events
