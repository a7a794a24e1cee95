# The verbs of this repository. `make help` lists them.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
NAME ?= kubewhy
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLUSTER := $(PYTHON) deploy/local/cluster.py
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--exclude-newer "7 days" --custom-compile-command "make lock" --quiet

# Each of the many processes would compile every library anew: 15 s of CPU for LiteLLM alone.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check fix generate cluster-up cluster-down run bench lock packages clean .venv

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) packages ## a real cluster, a broken workload, a real alert, and its root cause
	@$(BIN)/python tests/demo

test: $(READY) packages ## everything this machine can test; ARGS="--tier unit -k NAME" for less
	@PYTHONPATH=tests/support $(BIN)/python -m tiers $(ARGS)

check: $(READY) ## lint, format, types, layers, and generated files are up to date
	@sh tests/support/check.sh $(BIN)

fix: $(READY) ## repair what lint and format can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(READY) ## write again all files that are made from code
	$(BIN)/python -m kubewhy.api.generate

cluster-up: ## start or reuse the local cluster NAME; prints `export KUBECONFIG=…`
	@$(CLUSTER) up --name $(NAME)

cluster-down: ## stop and remove the local cluster NAME
	@$(CLUSTER) down --name $(NAME)

run: $(READY) ## operator and webhook in the foreground, against the cluster of KUBECONFIG
	@if [ -z "$${KUBECONFIG:-}" ]; then \
		echo 'KUBECONFIG is not set: name the cluster to use, or start one with: eval "$$(make cluster-up)"' >&2; \
		exit 1; \
	fi
	@exec $(BIN)/kubewhy run

bench: $(READY) packages ## measure; prints figures, fails on nothing
	@for script in tests/bench/*.py; do echo "== $$script"; \
		PYTHONPATH=tests/support:tests/demo $(BIN)/python "$$script" || exit 1; done

lock: $(READY) ## resolve requirements/*.txt anew, releases of at least 7 days' age; ARGS=--upgrade for newer ones
	$(COMPILE) $(ARGS) --group dev --output-file requirements/dev.txt pyproject.toml
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/bootstrap.txt --group lock
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/build.txt --group build
	@touch $(READY)

packages: # the Debian packages of the local cluster; nothing where that is not for us to do
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then $(CLUSTER) packages >&2; fi

clean: ## remove the virtual environment and all caches of this checkout
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv: $(READY)

$(READY): pyproject.toml requirements/dev.txt requirements/bootstrap.txt requirements/venv.sh
	@PYTHON='$(PYTHON)' sh requirements/venv.sh
	@touch $@
