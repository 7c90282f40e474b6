# Waybill. `make run` serves, `make test` proves; nothing else is needed.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN       := bin/waybill
GO        ?= go
PACKAGES  ?= ./...
TESTFLAGS ?=
FUZZTIME  ?= 20s
LINT      ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
# Modules of their own under test/: their dependencies stay out of the product.
TEST_MODULES := $(patsubst %/go.mod,%,$(wildcard test/*/go.mod))
SOURCES   := $(shell find . -name '*.go' -not -path './test/*' -not -path './.git/*' 2>/dev/null) go.mod go.sum

.PHONY: help run sandbox build test test-modules lint bench docs fuzz simulate prove clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build and serve; provider keys in the environment become accounts, else the sandbox starts
	@exec $(BIN) serve

sandbox: build ## build and serve the sandbox, whatever keys are in the environment
	@exec $(BIN) sandbox

build: $(BIN) ## build bin/waybill

$(BIN): $(SOURCES)
	$(GO) build -trimpath -o $@ ./cmd/waybill

bin/waybill-race: $(SOURCES)
	$(GO) build -race -trimpath -o $@ ./cmd/waybill

test: bin/waybill-race ## all tests, with the race detector, real databases and the built binary
	WAYBILL_BIN=$(CURDIR)/bin/waybill-race $(GO) test -race $(TESTFLAGS) $(PACKAGES)
	@$(MAKE) --no-print-directory test-modules

test-modules: bin/waybill-race # the tests that live in modules of their own, against the built binary
	@for m in $(TEST_MODULES); do \
	  echo "== $$m"; \
	  (cd $$m && WAYBILL_BIN=$(CURDIR)/bin/waybill-race $(GO) test $(TESTFLAGS) ./...); \
	done

lint: ## gofmt, go vet and golangci-lint
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run ./...; else $(GO) run $(LINT) run ./...; fi

bench: build ## the benchmark against a bare reverse proxy; BENCH_SECONDS and BENCH_ROUNDS shorten it
	$(GO) run ./test/bench

docs: ## write the pages of docs/ that are generated from code
	$(GO) generate ./events
	$(GO) test ./gateway/config -run Reference -update

fuzz: ## every fuzz target for FUZZTIME each
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p; \
	  done; \
	done

simulate: ## seeded worlds of several gateways on one ledger: make simulate SEED=n
	$(GO) test -run '^TestSimulate' -count=1 -v ./test/simulate/... -seed $(or $(SEED),1)

prove: ## the long forms of what must be shown, one JSON line each
	WAYBILL_PROVE=1 $(GO) test -run '^TestProve' -count=1 -timeout 2h -v $(PACKAGES) | grep -E '^\{|^(FAIL|panic|---.*FAIL)'

clean: ## remove what was built and what serving left behind in var/
	rm -rf bin var
