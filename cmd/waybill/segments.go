package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
)

// segmentsCommand lists the parts.
type segmentsCommand struct{ reading }

func (c *segmentsCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "segments", Short: "List what is archived and what is live", Args: cobra.NoArgs}
	c.bind(cmd)
	return cmd
}

// part is a segment as it is listed.
type part struct {
	admin.Segment
	Missing string `json:"missing"` // why the archive is not at hand
}

// Run implements command.
func (c *segmentsCommand) Run(ctx context.Context, s *std, _ []string) error {
	l, _, err := ledgerSettings(s)
	if err != nil {
		return err
	}
	log, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	parts, err := partsOf(ctx, log, events.Position(l.Segment), archive.NewPast(c.archives...))
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, parts)
	}
	p := paintOf(s)
	t := table{paint: p}
	t.head("FROM", "TO", "STATE", "ENDED", "FILE")
	for _, k := range parts {
		file := k.File
		if k.Missing != "" {
			file += " (not at hand)"
		}
		t.row(cell{fmt.Sprint(k.From), bold}, plain(fmt.Sprint(k.To)), plain(k.State), plain(k.RecordedAt.String()), plain(file))
	}
	return t.write(s.out)
}

func partsOf(ctx context.Context, log *ledger.Log, size events.Position, past *archive.Past) ([]part, error) {
	segments, err := admin.Segments(ctx, log, size)
	if err != nil {
		return nil, err
	}
	layout, err := log.Layout(ctx, size)
	if err != nil {
		return nil, err
	}
	floor, err := engine.Floor(ctx, log, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(segments))
	for i := range segments {
		parts[i].Segment = segments[i]
		if segments[i].State == admin.SegmentWhole && segments[i].To >= floor {
			parts[i].State = admin.SegmentEnded
		}
	}
	for i := range min(len(layout.Archived), len(parts)) {
		if err := past.Has(&layout.Archived[i]); err != nil {
			parts[i].Missing = err.Error()
		}
	}
	return parts, nil
}

// archiveCommand lets old events leave the ledger for files.
type archiveCommand struct {
	reading
	before string
	to     uint64
	out    string
}

func (c *archiveCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Move old events into verified files",
		Long: "Writes whole segments as compressed JSON Lines with a manifest, reads them back, compares them with the\n" +
			"live events, and only then removes those. Only segments that a snapshot follows are taken, so that a\n" +
			"gateway starts without them. An embedded ledger must not be open in a gateway; that one archives by\n" +
			"itself when ledger.retain and ledger.archive_dir are set.",
		Args: cobra.NoArgs,
	}
	ledgerFlag(cmd, &c.ledger, "ledger to archive from")
	cmd.Flags().StringVar(&c.before, "before", "", "segments that ended before an instant: "+instantForms)
	cmd.Flags().Uint64Var(&c.to, "to", 0, "segments up to a position")
	cmd.Flags().StringVarP(&c.out, "output", "o", "", "directory of the archives (default ledger.archive_dir, else archive beside the ledger)")
	return cmd
}

// Run implements command.
func (c *archiveCommand) Run(ctx context.Context, s *std, _ []string) error {
	before, err := when(c.before, s.now())
	if err != nil {
		return err
	}
	if (c.before == "") == (c.to == 0) {
		return usageError(errors.New("say how far: --before TIME or --to POSITION"))
	}
	l, e, err := ledgerSettings(s)
	if err != nil {
		return err
	}
	if c.ledger != "" {
		e.Ledger = c.ledger
	}
	done, why, err := c.archive(ctx, l, e, before)
	if err != nil {
		return err
	}
	if s.json {
		list := make([]admin.Segment, len(done))
		for i := range done {
			list[i] = admin.ArchivedSegment(&done[i])
		}
		return printJSON(s.out, list)
	}
	for i := range done {
		fmt.Fprintf(s.out, "Positions %d to %d archived in %s; the chain goes on from %s.\n", done[i].First, done[i].End.Position, done[i].Path, done[i].End.Hash)
	}
	if len(done) == 0 {
		fmt.Fprintln(s.out, "Nothing was archived: "+why)
	}
	return nil
}

func (c *archiveCommand) archive(ctx context.Context, l config.Ledger, e config.Environment, before events.Time) (done []ledger.Archived, why string, err error) {
	dir := c.out
	if dir == "" {
		if dir, err = archiveDir(l, e); err != nil {
			return nil, "", err
		}
	}
	key, err := ownKey(l, e)
	if err != nil {
		return nil, "", err
	}
	if r, err := openReader(e.Ledger); err != nil { // it is not made
		return nil, "", err
	} else if err := r.Close(); err != nil {
		return nil, "", ledgerError(err)
	}
	raw, err := openStore(ctx, e.Ledger, e, l)
	if err != nil {
		return nil, "", err
	}
	store := whole(raw, dir)
	log := ledger.Open(store)
	defer func() { err = errors.Join(err, log.Close()) }()
	o := archiveOptions(l, log, key, time.Now, slog.New(slog.DiscardHandler))
	o.Dir, o.Before, o.To = dir, before, events.Position(c.to)
	if done, err = archive.Run(ctx, store, o); err == nil && len(done) == 0 {
		why, err = c.nothing(ctx, log, o)
	}
	return done, why, err
}

// nothing says why no segment was archived.
func (c *archiveCommand) nothing(ctx context.Context, log *ledger.Log, o archive.Options) (string, error) {
	segments, err := admin.Segments(ctx, log, o.Size)
	if err != nil {
		return "", err
	}
	floor, err := o.Floor(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(segments, func(k admin.Segment) bool { return k.State == admin.SegmentWhole })
	if i < 0 {
		return "no live segment is whole yet (`waybill ledger segments` lists them; ledger.segment says how long one is).", nil
	}
	k := &segments[i]
	span := fmt.Sprintf("%d to %d", k.From, k.To)
	switch {
	case o.To != 0 && k.To > o.To:
		return fmt.Sprintf("the oldest whole segment is %s, which goes beyond --to %d.", span, o.To), nil
	case o.Before != 0 && k.RecordedAt >= o.Before:
		return fmt.Sprintf("the oldest whole segment, %s, ended at %s, and not before %s.", span, clock(k.RecordedAt), clock(o.Before)), nil
	case floor == 0:
		return fmt.Sprintf("segment %s may leave, but no gateway could start without it: there is no snapshot yet. A gateway stores one when it stops, and now and then.", span), nil
	}
	return fmt.Sprintf("segment %s may leave, but no snapshot follows it: the newest that a gateway can start from stands at %d. A gateway stores one when it stops, and now and then.", span, floor), nil
}
