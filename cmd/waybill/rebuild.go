package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// rebuildCommand folds from zero.
type rebuildCommand struct {
	past
	check bool
	admin string
}

func (c *rebuildCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Fold all views from zero, and compare (--check)",
		Long: "Folds all views from the first event on and checks the chain on the way. --check compares the result with the\n" +
			"stored snapshot and with the running gateway if one answers; any difference is exit code 1.",
		Args: cobra.NoArgs,
	}
	c.bind(cmd)
	cmd.Flags().BoolVar(&c.check, "check", false, "compare with a saved state and with the running gateway")
	adminFlag(cmd, &c.admin)
	return cmd
}

// rebuilt is what the command prints.
type rebuilt struct {
	OK          bool                 `json:"ok"`
	Position    events.Position      `json:"position"`
	States      []inquiry.State      `json:"states"`
	Comparisons []inquiry.Comparison `json:"comparisons"`
	Notes       []string             `json:"notes"` // what could not be compared, and why
}

// Run implements command.
func (c *rebuildCommand) Run(ctx context.Context, s *std, _ []string) error {
	log, m, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	out, err := c.rebuild(ctx, s, log, m)
	if err != nil {
		return err
	}
	if s.json {
		err = printJSON(s.out, out)
	} else {
		err = out.write(s)
	}
	if err == nil && !out.OK {
		err = errQuiet
	}
	return err
}

func (c *rebuildCommand) rebuild(ctx context.Context, s *std, log *ledger.Log, m inquiry.Moment) (*rebuilt, error) {
	out := &rebuilt{OK: true, Comparisons: []inquiry.Comparison{}, Notes: []string{}}
	stops := map[events.Position]func(*inquiry.Rebuilt){}
	var live []inquiry.State
	if c.check {
		live = c.gateway(ctx, s, m, out)
	}
	gateway := inquiry.Comparison{With: "gateway", Identical: true, Differences: []string{}}
	for _, st := range live {
		stops[st.Position] = func(r *inquiry.Rebuilt) {
			got := r.Compare("gateway", live)
			gateway.Identical = gateway.Identical && got.Identical
			gateway.Differences = append(gateway.Differences, got.Differences...)
		}
	}
	r, err := inquiry.Rebuild(ctx, log, m, stops, newProgress(s).tell)
	if err != nil {
		return nil, err
	}
	out.Position, out.States = r.Position, r.States()
	if len(live) > 0 {
		out.Comparisons = append(out.Comparisons, gateway)
	}
	if c.check {
		saved, err := inquiry.CompareSnapshot(ctx, log, r)
		if err != nil {
			return nil, err
		}
		out.Comparisons = append(out.Comparisons, saved)
	}
	for _, k := range out.Comparisons {
		out.OK = out.OK && k.Identical
	}
	return out, nil
}

// gateway asks the running gateway for its state, if one answers. It must be
// asked before the fold's end is fixed, so that the fold passes its position.
func (c *rebuildCommand) gateway(ctx context.Context, s *std, m inquiry.Moment, out *rebuilt) []inquiry.State {
	if m.Time != 0 || m.Position != 0 {
		out.Notes = append(out.Notes, "the running gateway stands at the head: it is compared without --at and --position only")
		return nil
	}
	states, err := fetchState(ctx, s, c.admin)
	if err != nil {
		out.Notes = append(out.Notes, "no running gateway was compared: "+err.Error())
	}
	return states
}

// stateTime bounds the question for a gateway's state.
const stateTime = 10 * time.Second

// fetchState reads GET /api/v1/state.
func fetchState(ctx context.Context, s *std, admin string) ([]inquiry.State, error) {
	e, _, err := config.ReadEnvironment(s.env)
	if err != nil {
		return nil, err
	}
	g := runningAt(admin, e)
	ctx, cancel := context.WithTimeout(ctx, stateTime)
	defer cancel()
	res, err := g.call(ctx, http.MethodGet, "/api/v1/state", nil)
	if errors.Is(err, errNobody) {
		return nil, errors.New("none answers at " + g.url)
	}
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", g.url, res.Status)
	}
	var got struct {
		Data []inquiry.State `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return nil, fmt.Errorf("%s gave no state: %w", g.url, err)
	}
	return got.Data, nil
}

func (r *rebuilt) write(s *std) error {
	p := paintOf(s)
	fmt.Fprintf(s.out, "Folded from zero to position %d.\n", r.Position)
	t := table{paint: p}
	t.head("VIEW", "VERSION", "BYTES", "SHA-256")
	for _, st := range r.States {
		t.row(cell{st.Name, bold}, plain(fmt.Sprint(st.Version)), plain(fmt.Sprint(st.Bytes)), plain(st.SHA256))
	}
	if err := t.write(s.out); err != nil {
		return err
	}
	for _, k := range r.Comparisons {
		if k.Identical {
			fmt.Fprintln(s.out, p.in(good, "Compared with "+k.With+": identical."))
			continue
		}
		fmt.Fprintln(s.out, p.in(bad, "Compared with "+k.With+": DIFFERENT."))
		for _, d := range k.Differences {
			fmt.Fprintln(s.out, "  "+d)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(s.out, "Note: "+n+".")
	}
	return nil
}
