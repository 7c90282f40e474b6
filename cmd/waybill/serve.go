package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// serveCommand serves until the process is told to stop.
type serveCommand struct{}

func (*serveCommand) cobra() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the data plane, the admin API and the console",
		Long: "Serve the data plane, the admin API and the console.\n\n" +
			"Accounts come from the config file, or from provider keys in the environment\n" +
			"(OPENAI_API_KEY, ANTHROPIC_API_KEY_2, ...). With neither, the sandbox starts.",
		Args: cobra.NoArgs,
	}
}

// Run implements command.
func (*serveCommand) Run(ctx context.Context, s *std, _ []string) error {
	return serve(ctx, s, false)
}

// sandboxCommand serves the sandbox, whatever keys are in the environment.
type sandboxCommand struct{}

func (*sandboxCommand) cobra() *cobra.Command {
	return &cobra.Command{
		Use:   "sandbox",
		Short: "Serve three accounts on a scripted upstream in this process",
		Args:  cobra.NoArgs,
	}
}

// Run implements command.
func (*sandboxCommand) Run(ctx context.Context, s *std, _ []string) error {
	return serve(ctx, s, true)
}

func serve(ctx context.Context, s *std, forceSandbox bool) error {
	src, warnings, err := findSource(s, forceSandbox)
	if err != nil {
		return err
	}
	svc := &service{std: s, source: src, log: newLogger(s.err, src.Env)}
	for _, w := range warnings {
		svc.log.Warn(w)
	}
	if err := svc.start(ctx); err != nil {
		if errors.Is(err, errStopped) {
			err = nil
		}
		return errors.Join(err, svc.stop())
	}
	svc.greet()
	err = svc.wait(ctx)
	return errors.Join(err, svc.stop())
}
