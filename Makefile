# `make mnist` and `make test` are all a fresh machine needs: both set up what they use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two test processes fill two cores; BLAS threads on top of them would only wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: mnist test slow gate examples docs lint format clean
.DELETE_ON_ERROR:

mnist: $(VENV)/.cli
	$(BIN)/jitgrad mnist train --model mlp --output mnist-mlp

test: $(VENV)/.dev
	$(PYTEST) -n 2 --dist worksteal -m "not slow" --ignore=tests/examples

slow: $(VENV)/.dev
	$(PYTEST) -n 2 --dist worksteal -m slow

gate: $(VENV)/.dev
	$(BIN)/python -m benchmarks.gate

examples: $(VENV)/.dev
	$(PYTEST) tests/examples

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .cache build dist docs/_build *.egg-info

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.cli: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,dev]"
	touch $@
