// Package simulate runs whole small worlds from a seed: several gateways (the
// real engine.Engine, each with a ledger.Log of its own) on one ledger, in front
// of upstreams that serve, run dry, lie and hang, on virtual time, with crashes,
// partitions, lost and late appends and wake-ups, wrong clocks, deploys and
// operators. After every step it checks what must always hold.
//
// A world steps one thing at a time. Whatever a gateway asks of the ledger waits
// at its port until the world lets it through, in an order that the seed gives,
// and everything that a gateway is told is told by the world's one goroutine; so
// a seed replays alike whatever the scheduler does. Nothing here knows how the
// views fold: the laws are about what went in and what came out.
package simulate
