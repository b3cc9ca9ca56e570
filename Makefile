# make demo · make test · make bench: each sets up what it needs first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2

COMPILED := $(shell find src -name '*.pyx' -o -name '*.pxd')

.DELETE_ON_ERROR:
.PHONY: demo test test-slow check bench setup build clean

demo: build
	$(BIN)/lanista roundrobin beastybar --matches 400

test: check
	$(BIN)/pytest -n $(JOBS)

# The long forms too; the outcome goes into docs/results.md.
test-slow: check
	$(BIN)/python tests/record_slow.py

check: build
	$(BIN)/ruff check src tests bench examples setup.py
	$(BIN)/ruff format --check src tests bench examples setup.py
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: build
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m bench

setup: $(VENV)/ready
build: $(VENV)/built

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet 'setuptools>=77' 'cython>=3.1,<4'
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[dev,openspiel,environments]'
	touch $@

$(VENV)/built: $(VENV)/ready setup.py $(COMPILED)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info
	find src -name '*.so' -delete
	find src -name '*.c' -delete
