// Package credential keeps the secret that an account sends: read again when
// its file changes, or printed by a command that runs at start, before the
// token expires and once when the provider has refused it.
//
// One renewal at a time runs for all who want one, on a context of its own: a
// client that leaves takes nobody's token with it. A renewal that fails changes
// nothing, however late it fails. The package knows no provider, ledger or
// engine; a new credential is told to a function, since it opens a new epoch.
package credential
