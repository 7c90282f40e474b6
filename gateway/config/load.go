package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/projections/usage"
)

// DefaultPath is read when no file is named and it exists.
const DefaultPath = "waybill.yaml"

// Sources are where a configuration comes from.
type Sources struct {
	Path      string // of the file; "" for none
	Text      []byte // read instead of the file, which Path then only names
	Vars      map[string]string
	Env       Environment
	Providers []*provider.Provider
}

// Config is a checked configuration.
type Config struct {
	File
	Path    string // of the file, "" when there is none
	Env     Environment
	catalog map[string]*provider.Provider
	// PriceTable is what the file of prices holds; nil when none is named.
	PriceTable *usage.Prices
}

// Path finds the file: the flag, the variable, else DefaultPath if it exists;
// "" when there is none.
func Path(flag string, e Environment) string {
	switch {
	case flag != "":
		return flag
	case e.Config != "":
		return e.Config
	}
	if _, err := os.Stat(DefaultPath); err == nil {
		return DefaultPath
	}
	return ""
}

// Load reads the file, adds what the environment configures and checks all of
// it. The error is Faults.
func Load(s Sources) (*Config, error) {
	c := &Config{File: defaults(), Path: s.Path, Env: s.Env, catalog: map[string]*provider.Provider{}}
	r := newReader(s.Path, func(name string) (string, bool) {
		v, ok := s.Vars[name]
		return v, ok
	})
	if s.Path != "" {
		text, err := s.text()
		if err != nil {
			return nil, Faults{{File: s.Path, Problem: readProblem(err), Mend: "name another file with --config or WAYBILL_CONFIG"}}
		}
		r.block(r.document(text), "the file", fileFields(&c.File))
	}
	c.override(r, s.Providers)
	c.prices(r)
	if s.Path == "" || c.AccountsFromEnv {
		r.accountsFromEnv(c, s.Providers, s.Vars)
	}
	if v, set := s.Vars["WAYBILL_CLIENT_KEY"]; set {
		r.clientsFromEnv(c, v)
	}
	(&checker{reader: r, Config: c}).check()
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return c, nil
}

func (s *Sources) text() ([]byte, error) {
	if s.Text != nil {
		return s.Text, nil
	}
	return os.ReadFile(s.Path)
}

func readProblem(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	}
	return fmt.Sprintf("cannot be read: %v", err)
}
