# Every target sets itself up: a fresh machine needs python3 (3.11 or later), make and pip.
#
#   make demo     check and run the example study; ends with its verdicts
#   make test     all that CI runs: format, lint, types, imports, tests
#   make check    the same without the tests: seconds, for before a commit
#   make slow     simulations, fuzzing and soak runs
#   make bench    time the kernels and the whole chain
#   make format   rewrite the sources in the house style
#
# PYTHON=python3.12 chooses the interpreter of a new environment; T='tests/test_judge.py -k exact' narrows `test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
T ?=
WORKERS ?= 2

# Tests start many processes; without byte code each of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := test
.PHONY: demo test check slow bench format

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "prereg needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

# A stamp is newer than pyproject.toml once what it lists is installed.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/prereg check protocols/pair-head-to-head.yaml
	$(BIN)/prereg run pair-head-to-head

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n $(WORKERS) $(T)

slow: $(VENV)/.installed-test
	$(BIN)/pytest -m slow $(T)

bench: $(VENV)/.installed-test
	@status=0; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || status=1; done; exit $$status

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
