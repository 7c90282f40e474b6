// Package migrations embeds the numbered SQL of each store. A file that was
// ever released is never edited; a change is a new file, and code runs before
// and after it.
package migrations

import "embed"

// SQLite is the embedded ledger's schema.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres is the shared ledger's schema, for goose. Names are unqualified:
// the search path says which schema they are in.
//
//go:embed postgres/*.sql
var Postgres embed.FS
