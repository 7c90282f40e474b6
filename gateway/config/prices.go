package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/waybill/waybill/projections/usage"
)

// ReadPrices reads a price table. The error is Faults.
func ReadPrices(path string) (*usage.Prices, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, Faults{{File: path, Problem: readProblem(err), Mend: "name another file of prices, or none"}}
	}
	return parsePrices(path, text)
}

func parsePrices(path string, text []byte) (*usage.Prices, error) {
	r := newReader(path, func(string) (string, bool) { return "", false })
	t := &usage.Prices{}
	rows := []priceRow{}
	r.block(r.document(text), "the price table", priceFields(t, &rows))
	if len(r.faults) == 0 && (t.Currency == "" || len(rows) == 0) {
		r.fault(Position{1, 1}, "see docs/usage.md", "a price table needs `currency:` and `prices:`")
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	for i := range rows {
		rows[i].check(r)
		t.Rows = append(t.Rows, rows[i].Price)
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return t, nil
}

// priceRow is a row in the making. A price that was not given is below zero.
type priceRow struct {
	usage.Price
	at Position
}

func newPriceRow(p *priceRow, at Position) {
	p.at = at
	p.Input, p.CachedInput, p.CacheWrite, p.Output = -1, -1, -1, -1
}

// check wants what every row needs; caches cost what input costs unless the row
// says otherwise.
func (p *priceRow) check(r *reader) {
	if p.Model == "" || p.Input < 0 || p.Output < 0 {
		r.fault(p.at, "write {model: gpt-5*, input: 1.25, output: 10}; an output that is never given costs 0", "a price needs model, input and output")
	}
	if p.CachedInput < 0 {
		p.CachedInput = p.Input
	}
	if p.CacheWrite < 0 {
		p.CacheWrite = p.Input
	}
}

func priceFields(t *usage.Prices, rows *[]priceRow) []field {
	return []field{
		checked("currency", "Of all prices, such as USD.", &t.Currency, checkCurrency),
		blocks("prices", "Rows; the first one that fits an attempt counts.", rows, priceRowFields, newPriceRow),
	}
}

func priceRowFields(p *priceRow) []field {
	return []field{
		checked("model", "The model as it was sent upstream; * stands for anything.", &p.Model, checkGlob),
		checked("provider", "Of this provider only.", &p.Provider, checkGlob),
		checked("account", "Of this account only.", &p.Account, checkGlob),
		price("input", "A million input tokens that neither came from a cache nor went into one.", &p.Input),
		price("cached_input", "A million input tokens from a cache. Absent: as input.", &p.CachedInput),
		price("cache_write", "A million input tokens that went into a cache. Absent: as input.", &p.CacheWrite),
		price("output", "A million output tokens, reasoning included.", &p.Output),
	}
}

var (
	currencyName = regexp.MustCompile(`^[A-Z]{3,8}$`)
	priceText    = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,6})?$`)
)

func checkCurrency(s string) (string, error) {
	if !currencyName.MatchString(s) {
		return "write three to eight capital letters, such as USD", fmt.Errorf("%q is no currency", s)
	}
	return "", nil
}

// price is a plain decimal number of the currency, exact to its millionth.
func price(key, doc string, p *int64) field {
	return value(key, "amount", doc, func(s string) (string, error) {
		if !priceText.MatchString(s) {
			return "write a price of a million tokens with at most six decimal places, such as 2.50", fmt.Errorf("%q is no price", s)
		}
		whole, rest, _ := strings.Cut(s, ".")
		micros, err := strconv.ParseInt(whole+rest+strings.Repeat("0", 6-len(rest)), 10, 64)
		*p = micros
		return "", err
	}, func() string { return "" })
}

// prices reads the table that the file names; what is wrong with it stands
// among the faults, with its own file, line and column.
func (c *Config) prices(r *reader) {
	if c.Prices == "" {
		return
	}
	var faults Faults
	var err error
	if c.PriceTable, err = ReadPrices(c.Prices); errors.As(err, &faults) {
		r.faults = append(r.faults, faults...)
	}
}

// PricesOf is the file of prices that a configuration names, "" for none. It
// reads nothing else of it: a question needs no keys.
func PricesOf(path string, vars map[string]string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", Faults{{File: path, Problem: readProblem(err)}}
	}
	r := newReader(path, func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	})
	pairs, _ := r.entries(r.document(text))
	for _, p := range pairs {
		if unveil(p.Key.GetToken().Value) != "prices" {
			continue
		}
		if s, ok := r.scalar(p.Value, "prices"); ok {
			return s, nil
		}
	}
	if len(r.faults) > 0 {
		return "", r.faults.sorted()
	}
	return "", nil
}
