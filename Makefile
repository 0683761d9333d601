# Tools run by version: they are no requirements of this module.
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT       = go run mvdan.cc/gofumpt@v0.12.0
OCB           = go run go.opentelemetry.io/collector/cmd/builder@v0.165.0
FUZZTIME     ?= 30s
BENCHTIME    ?= 1s
KILLS        ?= 200

.PHONY: all build test torture test-with-cover lint fmt tidy generate genotelcol otelcol-agents prices compare bench limits fuzz cases run run-replay

all: lint test build

build: ## the two commands, into bin/
	go build -o bin/ ./cmd/...

test: ## all tests with the race detector
	go test -race -timeout 900s ./...

test-with-cover:
	go test -race -timeout 900s -coverprofile=bin/cover.out ./...

torture: ## KILLS times SIGKILL for each kind of exporter queue, then a comparison with an undisturbed run
	go test -count=1 -timeout 60m -v ./internal/torture -run '^TestKilled$$' -args -kills $(KILLS) -size 24

lint:
	$(GOLANGCI_LINT) run ./...

fmt:
	$(GOFUMPT) -extra -w .

tidy:
	go mod tidy

generate: ## goldens and generated documents; look at the difference before you commit it
	go test ./translate/otlp ./translate/session ./internal/replay -update

genotelcol: ## cmd/otelcol-agents/components.go from builder-config.yaml; a test fails when they differ
	mkdir -p dist
	$(OCB) --config builder-config.yaml --skip-compilation --skip-get-modules --skip-strict-versioning=false
	gofmt dist/otelcol-agents/components.go > cmd/otelcol-agents/components.go

otelcol-agents: ## the distribution without symbols, into bin/
	go build -ldflags "-s -w" -o bin/otelcol-agents ./cmd/otelcol-agents

prices: ## the built-in catalogue from FROM, a copy of LiteLLM's model_prices_and_context_window.json of the day DATE
	go run ./internal/pricecut -from "$(FROM)" -date "$(DATE)"

compare: ## our sums of testdata/compare beside those of ccusage; needs node and npm
	npm install --silent --no-audit --no-fund --prefix bin/compare ccusage@20.0.24
	go run ./internal/compare -ccusage bin/compare/node_modules/.bin/ccusage

bench: ## decode, fold, output and whole replay, each beside its floor
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./translate/... ./internal/...

limits: build ## the figures of docs/limits.md, on an idle machine
	go run ./internal/limits

fuzz: ## every fuzz target for FUZZTIME
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

cases: ## the conformance suite, where it is beside this checkout
	go build -o bin/ ./cmd/otelcol-agents
	../shared/cases/run --bin bin/otelcol-agents

run: ## the collector with its embedded configuration
	go run ./cmd/otelcol-agents

run-replay:
	go run ./cmd/agentreplay testdata/sessions
