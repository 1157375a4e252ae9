# The same commands at home and in CI. Each target makes the virtual environment it needs.
# A fresh machine needs Python 3.11 or later (with venv), git and make; `make help` lists the targets.

PYTHON  ?= python3
WORKERS ?= auto

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Compiled modules are kept even where the environment says not to: tests start Python hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test browser database node system pythons check bench bench-reference bench-live bench-stream bench-data bench-gangs bench-worst bench-plan bench-desk bench-estimates bench-logs bench-pages soak soak-jobs chaos fuzz reference e2e lock protos page-types page-pictures pictures sbom image format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) ## a day of a thousand nodes under two policies: which is better?
	$(BIN)/fairway sim examples/scenarios/day.yaml --policy default --policy packed
	@echo "→ $(BIN)/fairway demo --ui   # both beside each other, in a browser"

test: check ## everything CI checks: make check, then the tests; some also on the oldest and newest Python
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --durations 20 --durations-min 5
	$(BIN)/python -m nox --session edges -- --numprocesses $(WORKERS) --dist worksteal

browser: ## Debian's chromium, with which tests look at pages, if it is not there yet
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } || \
		{ echo "no chromium: install it in your system's way; without it tests of pages are skipped" >&2; exit 1; }

database: ## Debian's PostgreSQL, in which tests keep a ledger, if it is not there yet
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } || \
		{ echo "no PostgreSQL: install its server in your system's way; without it tests of the ledger are skipped" >&2; exit 1; }

node: ## Debian's Node and npm, with which the types of scripts are checked, if they are not there yet
	@command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; } || \
		{ echo "no Node: install it in your system's way; without it types of scripts are not checked" >&2; exit 1; }

system: ## what tests use of the system, one after the other: a browser, a database, Node
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory database
	@$(MAKE) --no-print-directory node

pythons: $(STAMP) ## the tests on every Python that the machine has, from 3.11 on
	$(BIN)/python -m nox -- --numprocesses $(WORKERS)

check: $(STAMP) ## lint, formatting, types, the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## measure, and fail below a floor
	$(BIN)/python benchmarks/run.py

bench-reference: $(STAMP) ## decisions a second beside kube-scheduler's own code
	$(BIN)/python benchmarks/reference.py

bench-live: $(STAMP) ## pods bound a second beside kube-scheduler, on a real API server
	$(BIN)/python benchmarks/live.py

bench-stream: $(STAMP) ## what it costs a scheduler to be followed: decisions a second with and without readers
	$(BIN)/python benchmarks/followed_pod.py
	$(BIN)/python benchmarks/stream.py

bench-data: $(STAMP) ## what it costs to put pods near their data: decisions a second with DataLocality and without
	$(BIN)/python benchmarks/data.py

bench-gangs: $(STAMP) ## what it costs to start pods together: attempts, failures, and what lone pods pay
	$(BIN)/python benchmarks/gangs.py

bench-worst: $(STAMP) ## the worst pods an API server accepts, beside kube-scheduler: memory, and who has to wait
	$(BIN)/python benchmarks/worst_pods.py

bench-plan: $(STAMP) ## what a pass of the planner costs: 5,000 nodes, 2,000 waiting jobs
	$(BIN)/python benchmarks/plan.py

bench-desk: $(STAMP) ## what a pass of the desk costs: the same cluster, with order, reasons and records
	$(BIN)/python benchmarks/desk.py

bench-estimates: $(STAMP) ## when will it start: how good the dates of logged and made-up jobs are, and what they cost
	$(BIN)/python benchmarks/estimates.py

bench-logs: $(STAMP) ## what logs of jobs cost through the whole engine; PYSS=folder PYSS_PYTHON=python2.7 to compare
	$(BIN)/python benchmarks/logs.py $(if $(PYSS),--pyss $(PYSS)) $(if $(PYSS_PYTHON),--python $(PYSS_PYTHON))

bench-pages: $(STAMP) ## what pages cost: the heat map of 10,000 nodes and a day, answers of the API
	$(BIN)/python benchmarks/pages.py

soak: $(STAMP) ## 25 minutes of churn on a real API server: memory and latency stay flat
	$(BIN)/python benchmarks/soak.py

soak-jobs: $(STAMP) ## 12 minutes of jobs that come and go, 20 a second: memory stays flat and the books balance
	$(BIN)/python benchmarks/soak_jobs.py

chaos: $(STAMP) ## everything goes wrong on a real API server, kind by kind: what must hold still does
	$(BIN)/python -m tests.chaos

fuzz: $(STAMP) ## fresh random cases, decided by kube-scheduler's own code too: CASES=, SEED=, KINDS=, SAVE=
	$(BIN)/python -m tests.fuzz --cases $(or $(CASES),300) $(if $(SEED),--seed $(SEED)) $(if $(KINDS),--kinds $(KINDS)) \
		$(if $(SAVE),--save $(SAVE))

reference: $(STAMP) ## the recorded decisions made anew by kube-scheduler's own code, and compared
	$(BIN)/python -m tests.kube.reference

e2e: $(STAMP) ## upstream's own e2e specs with both schedulers, about an hour; FOCUS=expression for some of them
	$(BIN)/python -m tests.e2e --focus '$(FOCUS)'

lock: $(STAMP) ## requirements/runtime.txt and build.txt anew: what the image installs, with hashes
	$(BIN)/python -m deploy.lock

protos: $(STAMP) ## src/fairway/stream/wire anew: the modules of the stream's messages, from their .proto files
	$(BIN)/python -m deploy.protos

page-types: $(STAMP) ## src/fairway/web/static/answers.d.ts anew: types of the API's answers, for scripts
	$(BIN)/python -m tests.browser.script_types

page-pictures: $(STAMP) ## tests/browser/pictures anew: how pages look in all their states; PAGES="overview pods" for some
	$(BIN)/python -m tests.browser.page_pictures $(PAGES)

pictures: $(STAMP) ## docs/pictures anew: what the README shows of the pages, from the demo's run
	$(BIN)/python -m tests.browser.readme_pictures

sbom: $(STAMP) ## what is in a release, as CycloneDX: dist/fairway.cdx.json
	$(BIN)/python -m deploy.sbom dist/fairway.cdx.json

image: $(STAMP) ## an image to release: BASE=python:TAG@sha256:DIGEST IMAGE=NAME:TAG
	$(BIN)/python -m deploy.release "$(BASE)" "$(IMAGE)"

format: $(STAMP) ## format the code and apply the safe lint fixes
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean: ## remove the virtual environment and what the tools leave behind
	rm -rf $(VENV) .nox build dist fuzz-findings .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Installed again whenever the package's metadata or the pins change. An environment without a working pip is made anew.
# The pins include the build backend, so nothing is resolved at install time.
$(STAMP): pyproject.toml requirements/test.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Fairway needs Python 3.11 or later; name one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "preparing $(VENV)"
	@$(PIP) --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --requirement requirements/test.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
