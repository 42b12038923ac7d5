# Every target sets itself up in .venv; PYTHON chooses the interpreter it is made of.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PYTEST = $(BIN)/python -m pytest
JOBS ?= 2

.PHONY: test test-state test-validation test-client drift lint generate coverage bench torture demo dist clean

test: $(VENV)/ready
	$(PYTEST) -n $(JOBS) $(ARGS)

test-state: $(VENV)/ready
	$(PYTEST) -n $(JOBS) -m state

test-validation: $(VENV)/ready
	$(PYTEST) -n $(JOBS) -m validation

# The real clients come from npm into the user's cache.
test-client: $(VENV)/ready
	$(BIN)/taskie client install claude@known codex@known copilot@known qwen@known gemini@known
	$(PYTEST) -n $(JOBS) tests/client --taskie-require-client $(ARGS)

# What the newest Claude Code does differently, if the contract data do not know it yet.
drift: $(VENV)/ready
	$(BIN)/taskie client install claude
	$(BIN)/taskie client check latest --new --jobs $(JOBS)

lint: $(VENV)/ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Skills, Codex prompts and parts of hooks/, from their tables.
generate:
	$(PYTHON) -m tools.generate

coverage: $(VENV)/ready
	rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest -n $(JOBS) -q $(ARGS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks

# Faults, floods, storms, mutants: an hour or more. TORTURE='--only sweep --seconds 300' for less.
torture: $(VENV)/ready
	$(BIN)/python -m tools.torture $(TORTURE)

demo:
	$(PYTHON) -m taskie demo

dist: $(VENV)/ready-lint
	rm -rf dist
	$(BIN)/python -m build -q
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv --clear build/installed
	build/installed/bin/python -m pip install -q --disable-pip-version-check dist/*.whl
	cd / && "$(CURDIR)/build/installed/bin/taskie" demo

clean:
	rm -rf .venv .venv-* dist build *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	touch $@

$(VENV)/ready-lint: $(VENV)/ready
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test,lint]'
	touch $@
