package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/ledger"
)

// std is what a command has of the world: streams, environment and clock, so
// that every command runs in a test as it runs in a shell.
type std struct {
	in       io.Reader
	out, err io.Writer
	env      map[string]string
	now      func() time.Time
	json     bool   // --json
	plain    bool   // --no-color
	config   string // --config, "" when it was not given
}

// command is one subcommand. Its flags are fields of its struct.
type command interface {
	// cobra describes the command and binds its flags; RunE is set by root.
	cobra() *cobra.Command
	// Run does it. Errors are mapped to exit codes by exitCode.
	Run(ctx context.Context, s *std, args []string) error
}

// commands is the one list of all subcommands, in the order of `waybill help`.
func commands() []command {
	return []command{
		&serveCommand{},
		&sandboxCommand{},
		&accountsCommand{},
		&whyCommand{},
		&requestsCommand{},
		&eventsCommand{},
		&usageCommand{},
		&verifyCommand{},
		&rebuildCommand{},
		&replayCommand{},
		&exportCommand{},
		&importCommand{},
		&group{"ledger", "The ledger's parts: what is live, what is archived", []command{&segmentsCommand{}, &archiveCommand{}}},
		newOperate("release", "End all evidence that keeps an account out"),
		newOperate("park", "Set an account aside until an instant"),
		newOperate("drain", "Give an account no new work; its running answers end"),
		newOperate("undrain", "End a drain and an operator's park"),
		&group{"config", "Check the configuration", []command{&configCheckCommand{}}},
		&feedsCommand{},
		&group{"keys", "Make client keys, show the key of checkpoints", []command{&keysNewCommand{}, &keysCheckpointCommand{}}},
		&doctorCommand{},
		&versionCommand{},
	}
}

// run is main with its world as arguments; it returns the exit code.
func run(ctx context.Context, args, env []string, in io.Reader, out, errw io.Writer) int {
	s := &std{in: in, out: out, err: errw, env: environment(env), now: time.Now}
	root := newRoot(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !errors.Is(err, errQuiet) {
		fmt.Fprintln(errw, "waybill:", err)
	}
	if errors.Is(err, ledger.ErrUnavailable) && cmd.Name() != "serve" {
		s.tellRunning(ctx)
	}
	return exitCode(err)
}

func newRoot(s *std) *cobra.Command {
	root := &cobra.Command{
		Use:           "waybill",
		Short:         "An LLM gateway whose memory is a ledger",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.PersistentFlags().BoolVar(&s.json, "json", false, "print one JSON object, or one array for lists")
	root.PersistentFlags().BoolVar(&s.plain, "no-color", false, "print no colours (also $NO_COLOR, and wherever the output is no terminal)")
	root.PersistentFlags().StringVar(&s.config, "config", "", "config file (default $WAYBILL_CONFIG, else waybill.yaml if it exists)")
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w; `%s --help` lists the flags", err, c.CommandPath()))
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, cmd := range commands() {
		root.AddCommand(bind(cmd, s))
	}
	return root
}

// bind makes a cobra command of ours, or of a group of ours.
func bind(cmd command, s *std) *cobra.Command {
	c := cmd.cobra()
	c.Args = usageArgs(c.Args)
	c.RunE = func(c *cobra.Command, args []string) error { return cmd.Run(c.Context(), s, args) }
	if w, ok := cmd.(interface{ complete(*std, *cobra.Command) }); ok {
		w.complete(s, c)
	}
	if g, ok := cmd.(interface{ commands() []command }); ok {
		for _, sub := range g.commands() {
			c.AddCommand(bind(sub, s))
		}
	}
	return c
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			check = cobra.ArbitraryArgs
		}
		err := check(c, args)
		switch {
		case err == nil:
			return nil
		case !c.HasParent():
			return usageError(fmt.Errorf("there is no command %q%s; `waybill help` lists them", args[0], meant(c.SuggestionsFor(args[0]))))
		case len(args) == 0:
			return usageError(fmt.Errorf("something is missing: %s", c.UseLine()))
		}
		return usageError(fmt.Errorf("%q is too much: %s", args[len(args)-1], c.UseLine()))
	}
}

func meant(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

func environment(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}
