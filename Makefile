# Waybill. `make run` serves, `make test` proves; nothing else is needed.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN       := bin/waybill
GO        ?= go
PACKAGES  ?= ./...
TESTFLAGS ?=
FUZZTIME  ?= 20s
GOLANGCI  ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Modules of their own under test/: their dependencies stay out of the product.
TEST_MODULES := $(patsubst %/go.mod,%,$(wildcard test/*/go.mod))
SOURCES   := $(shell find . -name '*.go' -not -path './test/*' -not -path './.git/*' 2>/dev/null) go.mod go.sum

# The long forms, in the order in which make prove runs them.
PROOFS := prove-kill prove-conformance prove-outage prove-cluster prove-wake prove-rederive prove-agreement prove-pages prove-week prove-simulate prove-planted \
	prove-bench prove-fuzz prove-calls prove-ledger prove-rebuild prove-queries prove-verify prove-replay

.PHONY: help run sandbox build test test-modules lint bench docs fuzz simulate prove $(PROOFS) clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
	@if command -v golangci-lint >/dev/null; then golangci-lint run ./...; else $(GO) run $(GOLANGCI) run ./...; fi

bench: build ## the benchmark against a bare reverse proxy; BENCH_SECONDS and BENCH_ROUNDS shorten it
	$(GO) run ./test/bench

docs: ## write the pages of docs/ that are generated from code
	$(GO) generate ./events
	$(GO) test ./gateway/config ./gateway/provider/catalogue ./cmd/waybill -run Reference -update

fuzz: ## every fuzz target for FUZZTIME each
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p; \
	  done; \
	done

simulate: ## WORLDS [2000] seeded worlds of gateways, faults and wrong clocks; SEED=n tells one of them step by step
ifdef SEED
	SEED=$(SEED) WAYBILL_TRACE=1 $(GO) test -count=1 -v -run TestOneWorldIsTold ./test/simulate
else
	WAYBILL_WORLDS=$(or $(WORLDS),2000) $(GO) test -race -count=1 -v -run 'TestEveryLawHoldsInEveryWorld' ./test/simulate
endif

prove: $(PROOFS) ## the long forms of what must be shown, one JSON line each

prove-kill: bin/waybill-race ## CYCLES [200] kills under load: the gateway on SQLite, on PostgreSQL, half as often PostgreSQL itself, a quarter archiving
	@$(call prove,./test/kill,WAYBILL_KILL_CYCLES=$(or $(CYCLES),200))

prove-conformance: ## EVENTS [100000] events of many writers at once, followed and tailed, in both stores: each seen once
	@$(call prove,-run 'TestConformance/appenders|TestReplicasAppend' ./ledger/sqlite ./ledger/postgres,WAYBILL_CROWD=$(or $(EVENTS),100000))

prove-outage: bin/waybill-race ## PostgreSQL taken away under load, and the gateway killed meanwhile: every answered request's decision once
	@$(call prove,./test/outage,WAYBILL_OUTAGES=$(or $(OUTAGES),30))

prove-wake: ## from a commit to a follower in another replica, over NATS, LISTEN/NOTIFY and polls alone
	@cd test/brokers && $(call prove,-run ReachesAnother .,WAYBILL_WAKEUPS=$(or $(WAKEUPS),500))

prove-cluster: bin/waybill-race ## three gateways, PostgreSQL and NATS, each part killed, frozen or stopped in turn under load: one ledger, one story
	@cd test/cluster && $(call prove,.,WAYBILL_CLUSTER_ROUNDS=$(or $(ROUNDS),4))

prove-rederive: bin/waybill-race ## random faults over 20 accounts: every decision derived again
	@$(call prove,./test/faults,WAYBILL_FAULT_REQUESTS=$(or $(REQUESTS),40000))

prove-agreement: bin/waybill-race ## random histories: selection, refusal, list, account and pin get one verdict, and every decision is made again alike
	@$(call prove,-run Test_I1_ ./test/scenario,WAYBILL_WORLDS=$(or $(WORLDS),100000))

prove-pages: ## every page of the console over 1,000,000 events and 200 accounts in less than 100 ms of processor time
	@$(call prove,-run TestProvePagesAnswerAtOnce ./gateway/console,WAYBILL_PROVE=$(or $(REQUESTS),900000))

prove-week: bin/waybill-race ## a week of virtual time, three gateways on one ledger: nobody starves, nobody hammers
	@$(call prove,./test/replicas,WAYBILL_DAYS=$(or $(DAYS),7))

prove-simulate: ## 20,000 simulated worlds: every law in every one
	@$(call prove,-run TestEveryLawHoldsInEveryWorld ./test/simulate,WAYBILL_WORLDS=$(or $(WORLDS),20000))

prove-planted: ## faults written into the sources one by one: the simulation finds each
	@$(call prove,-run Planted ./test/simulate,WAYBILL_FAULTS=all WAYBILL_WORLDS=$(or $(WORLDS),3000))

prove-calls: ## every reading call of the API over EVENTS [1000000] events and 200 accounts: p99 under 100 ms of processor time
	@$(call prove,-run TestProveCalls ./test/pages,WAYBILL_PROVE=$(or $(EVENTS),1000000))

prove-ledger: ## what an append costs in both stores, in ratios to a raw disk and to one appender: medians over ROUNDS [21]
	@$(call prove,-run TestProveLedger ./test/rebuild,WAYBILL_PROVE=$(or $(ROUNDS),21))

prove-rebuild: ## EVENTS [5000000] events read, chained and folded from SQLite and PostgreSQL; a start from a snapshot
	@$(call prove,-run TestProveRebuild ./test/rebuild,WAYBILL_PROVE=$(or $(EVENTS),5000000))

prove-queries: ## a request and an account's day out of EVENTS [5000000] events, in both stores; PostgreSQL in segments of SEGMENT [1000000]
	@$(call prove,-run TestProveQueries ./test/rebuild,WAYBILL_PROVE=$(or $(EVENTS),5000000) WAYBILL_SEGMENT=$(SEGMENT))

prove-verify: ## REQUESTS [1000000] decisions derived again
	@$(call prove,-run TestProveVerify ./gateway/inquiry,WAYBILL_PROVE=$(or $(REQUESTS),1000000))

prove-replay: ## REQUESTS [1000000] requests replayed under another policy
	@$(call prove,-run TestProveReplay ./gateway/inquiry,WAYBILL_PROVE=$(or $(REQUESTS),1000000))

prove-bench: build ## the benchmark, its figures as one JSON line
	@BENCH_OUT=$(CURDIR)/test/bench/out/bench.json $(GO) run ./test/bench >&2; \
	printf '{"prove":"bench","figures":%s}\n' "$$(tr -d '\n' <test/bench/out/bench.json)"

# Parsers of what providers send, 5 minutes each.
FUZZED := ./gateway/provider/when:FuzzParse ./gateway/provider/catalogue:FuzzClassify ./gateway/provider/catalogue:FuzzUsage \
	./gateway/quota:FuzzPush ./gateway/quota:FuzzMapping ./gateway/dialect/sse:FuzzScanner

prove-fuzz: ## time parser, classifiers, readings and event streams, PROVE_FUZZTIME [5m] each
	@for t in $(FUZZED); do \
	  $(GO) test -run '^$$' -fuzz "^$${t#*:}\$$" -fuzztime $(or $(PROVE_FUZZTIME),5m) -fuzzminimizetime 0 "$${t%%:*}" >&2; \
	  echo "{\"prove\":\"fuzz\",\"target\":\"$$t\",\"time\":\"$(or $(PROVE_FUZZTIME),5m)\",\"findings\":0}"; \
	done

# prove runs a package's tests in their long form and prints their JSON lines.
define prove
	log=$$(mktemp); \
	if $(2) SEED=$(or $(SEED),1) WAYBILL_BIN=$(CURDIR)/bin/waybill-race $(GO) test -count=1 -timeout 2h -v $(1) >$$log 2>&1; \
	then grep '^{' $$log; rm -f $$log; else cat $$log; rm -f $$log; exit 1; fi
endef

clean: ## remove what was built and what serving left behind in var/
	rm -rf bin var
