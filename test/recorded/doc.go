// Package recorded makes the incident that docs/incident.md walks through and
// that replays and the console are tested on: a working day at a gateway with
// three accounts, 12.5 hours after its last quiet request. A console says for
// twelve hours that a plan is spent while its upstream serves; an upstream says
// that credits are gone; a spend budget is reached; and for an hour all of it is
// true at once.
//
// The gateway, its classifiers and its engine are the real ones, in front of a
// scripted upstream on a socket. Only the clock is moved by hand, so that a day
// is recorded in a few seconds and every event has the time it would have had.
package recorded
