package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// group is a command that does nothing but hold others.
type group struct {
	name, short string
	of          []command
}

func (g *group) cobra() *cobra.Command {
	return &cobra.Command{Use: g.name, Short: g.short, Args: cobra.NoArgs}
}

func (g *group) commands() []command { return g.of }

// Run implements command: the group alone is a usage error.
func (g *group) Run(context.Context, *std, []string) error {
	names := make([]string, len(g.of))
	for i, c := range g.of {
		names[i] = "waybill " + g.name + " " + c.cobra().Name()
	}
	return usageError(fmt.Errorf("say what: %s", strings.Join(names, ", or ")))
}
