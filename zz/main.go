// Command zz keeps the dependencies of parts that are still being built in go.mod.
package main

import (
	_ "net/http"

	_ "github.com/ThreeDotsLabs/watermill"
	_ "github.com/andybalholm/brotli"
	_ "github.com/caarlos0/env/v11"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/uuid"
	_ "github.com/gorilla/mux"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/tools/go/packages"
	_ "zombiezen.com/go/sqlite"
	_ "zombiezen.com/go/sqlite/sqlitex"
)

func main() {}
