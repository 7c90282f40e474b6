package main

import (
	"fmt"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/catalogue"
	"github.com/waybill/waybill/gateway/sandbox"
)

// source is where this process' configuration comes from, so that it can be
// read again.
type source struct {
	config.Sources
	sandbox bool
}

// findSource reads the environment and finds the file. Without a file and
// without provider keys, or when it is forced, the source is the sandbox.
func findSource(s *std, forceSandbox bool) (*source, []string, error) {
	e, warnings, err := config.ReadEnvironment(s.env)
	if err != nil {
		return nil, nil, usageError(err)
	}
	src := &source{Sources: config.Sources{Vars: s.env, Env: e, Providers: catalogue.All(), Path: config.Path(s.config, e)}}
	switch {
	case forceSandbox:
		src.sandbox = true
	case src.Path == "":
		src.sandbox = !hasKeys(src.Providers, s.env)
	}
	if src.sandbox {
		src.Path, src.Text = "the sandbox's configuration", []byte(sandbox.Configuration())
	}
	return src, warnings, nil
}

func hasKeys(providers []*provider.Provider, env map[string]string) bool {
	for _, p := range providers {
		if p.EnvKey != "" && len(config.KeyNumbers(p.EnvKey, env)) > 0 {
			return true
		}
	}
	return false
}

// at points the sandbox's provider at its upstream.
func (src *source) at(upstream string) error {
	like := catalogue.Find("openai-compatible")
	if like == nil {
		return fmt.Errorf("start sandbox: the provider table has no openai-compatible")
	}
	src.Providers = []*provider.Provider{sandbox.Provider(like, upstream)}
	return nil
}

// settings is the configuration for a command that serves nothing: the
// sandbox's upstream has no port then.
func (src *source) settings() (*config.Config, error) {
	if src.sandbox {
		if err := src.at("http://127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	return src.load()
}

func (src *source) load() (*config.Config, error) {
	c, err := config.Load(src.Sources)
	if err != nil {
		return nil, usageError(err)
	}
	return c, nil
}
