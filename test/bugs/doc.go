// Package bugs replays inputs that broke other gateways, end to end over real
// sockets: a client, the data plane, a scripted upstream and a ledger in one
// process. Each test carries the id of its case.
package bugs
