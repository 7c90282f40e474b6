package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/usage"
)

// usageCommand sums requests and tokens, and prices them.
type usageCommand struct {
	past
	span       spanFlags
	by, prices string
}

func (c *usageCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Sum requests, tokens, skips and refusals, and what they cost",
		Long: "Sums what was recorded by account, model, client or day: the numbers of GET /api/v1/usage. What no answer told is\n" +
			"not zero and shown as -. With a price table (--prices, or `prices:` in the configuration) each row has its cost.",
		Args: cobra.NoArgs,
	}
	c.bind(cmd)
	c.span.bind(cmd, "recorded")
	f := cmd.Flags()
	f.StringVar(&c.by, "by", "account", "account, model, client or day")
	f.StringVar(&c.prices, "prices", "", "file with what tokens cost (docs/usage.md); default: the one that the configuration names")
	return cmd
}

// Run implements command.
func (c *usageCommand) Run(ctx context.Context, s *std, _ []string) error {
	of, err := c.question(s)
	if err != nil {
		return err
	}
	log, m, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	sums, err := inquiry.Usage(ctx, log, m, of)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, sums)
	}
	return writeUsage(s.out, paintOf(s), of, sums)
}

func (c *usageCommand) question(s *std) (of inquiry.UsageOf, err error) {
	var ok bool
	if of.By, ok = usage.ParseBy(c.by); !ok {
		return of, usageError(fmt.Errorf("--by %q: want account, model, client or day", c.by))
	}
	if of.Since, of.Until, err = c.span.span(s); err != nil {
		return of, err
	}
	of.Prices, err = c.priceTable(s)
	return of, err
}

// priceTable is the one that is named, else the configuration's. Nothing else
// of the configuration is needed, and nothing else of it is read.
func (c *usageCommand) priceTable(s *std) (*usage.Prices, error) {
	path := c.prices
	if path == "" {
		e, _, err := config.ReadEnvironment(s.env)
		if err != nil {
			return nil, usageError(err)
		}
		file := config.Path(s.config, e)
		if file == "" {
			return nil, nil
		}
		if path, err = config.PricesOf(file, s.env); err != nil {
			return nil, usageError(err)
		}
	}
	if path == "" {
		return nil, nil
	}
	t, err := config.ReadPrices(path)
	if err != nil {
		return nil, usageError(err)
	}
	return t, nil
}

func writeUsage(w io.Writer, p paint, of inquiry.UsageOf, sums []usage.Sum) error {
	if len(sums) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was recorded then.")
		return err
	}
	t := table{paint: p}
	head := []string{strings.ToUpper(of.By.String())}
	for _, name := range usage.Columns() {
		head = append(head, strings.ToUpper(name))
	}
	if of.Prices != nil {
		head = append(head, "COST ("+of.Prices.Currency+")")
	}
	t.head(head...)
	total := usage.Sum{Key: "sum"}
	for i := range sums {
		t.row(usageRow(&sums[i])...)
		total.Add(&sums[i])
	}
	if len(sums) > 1 {
		if of.By == usage.Account {
			total.Requests, total.Refusals = -1, -1 // they count for every account that they touched
		}
		t.row(usageRow(&total)...)
	}
	if err := t.write(w); err != nil {
		return err
	}
	return writeUnpriced(w, total.Cost)
}

// usageRow is a row; a count below zero is none.
func usageRow(u *usage.Sum) []cell {
	count := func(n int64) cell {
		if n < 0 {
			return plain("")
		}
		return plain(strconv.FormatInt(n, 10))
	}
	tokens := func(t usage.Tokens) cell {
		if t.IsZero() {
			return plain("")
		}
		return count(t.N)
	}
	row := []cell{{plain(u.Key).text, bold}, count(u.Requests), count(u.Attempts), count(u.Served), count(u.Failed), count(u.Skips), count(u.Refusals),
		tokens(u.Input), tokens(u.CachedInput), tokens(u.CacheWrite), tokens(u.Output), tokens(u.Reasoning),
		count(u.Partial), count(u.Unknown), count(u.Billed)}
	switch {
	case u.Cost == nil:
	case u.Cost.Complete:
		row = append(row, plain(u.Cost.Amount))
	default:
		row = append(row, cell{">= " + u.Cost.Amount, wait})
	}
	return row
}

// writeUnpriced names what has no price.
func writeUnpriced(w io.Writer, c *usage.Cost) error {
	if c == nil {
		return nil
	}
	for _, p := range c.Unpriced {
		if _, err := fmt.Fprintf(w, "No price: model %s at %s (%s).\n", p.Model, plain(p.Account).text, plain(p.Provider).text); err != nil {
			return err
		}
	}
	return nil
}
