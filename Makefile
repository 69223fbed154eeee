# Everything that is done with a checkout. The first target that needs it makes .venv, from CPython 3.11 or later and pip.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
TREES := felan_core felan_tui
SOURCES := $(shell find $(TREES) -name '*.py' 2>/dev/null)

# The first Python on PATH that is new enough; `make PYTHON=/path/to/python3.12 …` chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

# Without byte code a first start costs four times as much, so nothing here may be told not to write it.
unexport PYTHONDONTWRITEBYTECODE
# A PYTHONPATH or a home of somebody else's Python would hide what is missing in ours.
unexport PYTHONPATH PYTHONHOME

.PHONY: run setup test check test-agents bench fuzz screenshots soak clean
.DEFAULT_GOAL := run

run: $(VENV)/.felan-compiled
	@$(BIN)/felan $(ARGS)

# What a developer needs on top of what a user needs.
setup: $(VENV)/.felan-dev $(VENV)/.felan-compiled

test: setup
	$(BIN)/python -m pytest -n 4 --dist worksteal $(ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/python -m pytest -q tests/house

test-agents: setup
	$(BIN)/python -m tests.agents.fetch
	$(BIN)/python -m pytest -m agents -n 2 --dist loadfile $(ARGS)

soak: setup
	$(BIN)/python -m pytest -m soak --timeout=1800 $(ARGS)

fuzz: setup
	$(BIN)/python -m tests.core.protocol.fuzz $(ARGS)

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

screenshots: setup
	$(BIN)/python -m screenshots $(ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
	find $(TREES) tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: each is newer than what it was made from, so that nothing is installed twice.

$(VENV)/.felan-venv:
	@test -n "$(PYTHON)" || { echo "Felan needs Python 3.11 or later, and there is none on PATH:" \
		"python3 is $$(python3 --version 2>/dev/null || echo missing)."; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Felan needs Python 3.11 or later: $(PYTHON) is $$("$(PYTHON)" --version 2>/dev/null || echo missing)."; \
		exit 1; }
	@echo "Making $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "This Python cannot make a virtual environment (on Debian and Ubuntu: install python3-venv)."; exit 1; }
	@touch $@

# The build backend comes first and pinned, so that the install below needs no environment of its own.
$(VENV)/.felan-user: pyproject.toml constraints.txt $(VENV)/.felan-venv
	@echo "Installing felan and what it needs"
	@$(PIP) install -q -c constraints.txt hatchling editables
	@$(PIP) install -q -c constraints.txt --no-build-isolation -e .
	@touch $@

$(VENV)/.felan-dev: $(VENV)/.felan-user
	@echo "Installing the tools of a developer"
	@$(PIP) install -q -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

$(VENV)/.felan-compiled: $(VENV)/.felan-user $(SOURCES)
	@$(BIN)/python -m compileall -q $(TREES)
	@touch $@
