// Package migrations embeds the numbered SQL of each store. A file that was
// ever released is never edited; a change is a new file, and code runs before
// and after it.
package migrations

import "embed"

// SQLite is the embedded ledger's schema.
//
//go:embed sqlite/*.sql
var SQLite embed.FS
