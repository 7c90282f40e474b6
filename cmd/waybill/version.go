package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionCommand prints what this binary is.
type versionCommand struct{}

func (*versionCommand) cobra() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
}

// Run implements command.
func (*versionCommand) Run(_ context.Context, s *std, _ []string) error {
	if s.json {
		return json.NewEncoder(s.out).Encode(map[string]string{"version": version(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(s.out, "waybill %s (%s)\n", version(), runtime.Version())
	return err
}

// version is the module's version, else its revision, else "devel".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
