// Package quota turns what consoles, usage endpoints and scrapers say about
// quota into readings: the contract's pushed JSON, a generic HTTP source with
// a mapping of its fields, the presets of the catalogue, and a poller that asks
// them in due time. It hands events to a sink and knows neither ledger nor
// engine. What a reading means is for projections/admission to say.
//
// # What counts as reported
//
// R1 calls a window exhausted by its flag, else by its *reported* remaining. A
// source reports what remains when it states any of: a remaining percentage, a
// used percentage, or used and limit together. 40000 of 40000 used, or 100 %
// used, is a report that nothing remains; it is the provider's own number in
// another spelling, and no default or estimate takes part. A source may set
// "reported": false to say that its number is an estimate: such a window is
// shown and weighs nothing. A used amount without a limit, null, an absent
// member or a placeholder reports nothing.
package quota
