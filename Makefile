# make demo · make test · make bench: each sets up what it needs first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet
JOBS ?= 2

COMPILED := $(shell find src -name '*.pyx' -o -name '*.pxd')

.DELETE_ON_ERROR:
.PHONY: demo test test-slow check docs mutants dist bench peers setup build lock audit clean

demo: build
	$(BIN)/lanista run beastybar-quick --view

# Compiled tests are kept: compiling them takes each process ten seconds. Neighbours share what a
# module or a process has set up, so that each process has a half of its own until it has nothing left.
PYTEST_FLAGS := -n $(JOBS) --dist worksteal
test test-slow: export PYTHONDONTWRITEBYTECODE =
# As many processes as cores: more threads in each would only wait for one another.
test test-slow: export OMP_NUM_THREADS = 1
test test-slow: export OPENBLAS_NUM_THREADS = 1
test: check $(VENV)/showdown
	$(BIN)/pytest $(PYTEST_FLAGS)

# The long forms too; the outcome goes into docs/results/results.md.
test-slow: check $(VENV)/showdown
	$(BIN)/python tests/record_slow.py $(PYTEST_FLAGS)

check: build
	$(BIN)/ruff check src tests bench mutants examples requirements setup.py
	$(BIN)/ruff format --check src tests bench mutants examples requirements setup.py
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in build/site; a broken link or anchor ends it. Needs no network once its tools are there.
DOCS := .venv-docs
docs: $(DOCS)/ready
	$(DOCS)/bin/mkdocs build --strict --quiet
	@echo 'Open build/site/index.html.'

$(DOCS)/ready: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --no-deps --requirement $<
	touch $@

# Plants faults and counts those that tests notice; docs/reference/mutants.md is what came of it.
mutants: build $(VENV)/showdown
	$(BIN)/python -m mutants --jobs $(JOBS)

bench: build
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m bench

# Learners of others, for `make bench`: each in an environment of its own, since their needs clash.
# One that does not install leaves why in `install.log`, and the others go on. They need not install
# the package: `make bench` shows them the sources, and of its needs they have NumPy and torch.
PEERS := .venv-peers
peers: $(patsubst bench/peers/%.txt,$(PEERS)/%/ready,$(wildcard bench/peers/*.txt))

$(PEERS)/%/ready: bench/peers/%.txt | build
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	@echo 'Installing $*: some minutes.'
	@if $(@D)/bin/python -m pip install --quiet --requirement $< 2> $(@D)/install.log; \
		then touch $@; else echo '$* is left out:'; tail -n 1 $(@D)/install.log; fi

setup: $(VENV)/ready
build: $(VENV)/built

# The tested set, each file held to its hash; torch apart, as requirements/test.txt explains.
LOCK := requirements/test.txt
EXTRAS := dev,openspiel,environments,onnx,showdown,tune,ray
TESTED := import sys; sys.exit(sys.version_info[:2] != (3, 11))
EDITABLE := DIST_EXTRA_CONFIG='$(abspath $(VENV))/build.cfg' \
	$(INSTALL) --no-build-isolation --editable

$(VENV)/ready: pyproject.toml $(LOCK) requirements/torch.txt
	$(PYTHON) -m venv $(VENV)
	@printf '[build_ext]\nparallel = %s\n' $(JOBS) > $(VENV)/build.cfg
	@echo 'What comes now installs what is needed and compiles the games: some minutes, once.'
	@set -e; if $(BIN)/python -c '$(TESTED)'; then \
		$(INSTALL) --require-hashes --no-deps --requirement $(LOCK); \
		$(INSTALL) --requirement requirements/torch.txt; \
		$(EDITABLE) . --no-deps; \
	else \
		echo 'This Python is not 3.11, the tested one: versions come from the ranges in pyproject.toml.'; \
		$(INSTALL) --upgrade pip; \
		$(INSTALL) 'setuptools>=77' 'cython>=3.1,<4'; \
		$(EDITABLE) '.[$(EXTRAS)]'; \
	fi
	touch $@

# Tools for the two targets below, in an environment of their own.
TOOLS := .venv-tools
$(TOOLS)/ready:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet uv pip-audit
	touch $@

# The newest versions within the ranges; run `make test` on them before they are committed.
lock: $(TOOLS)/ready
	PATH="$(abspath $(TOOLS))/bin:$$PATH" $(TOOLS)/bin/python requirements/lock.py

# What is known of vulnerabilities in the tested set; docs/reference/release.md keeps the answer.
audit: $(TOOLS)/ready
	PATH="$(abspath $(TOOLS))/bin:$$PATH" $(TOOLS)/bin/python requirements/audit.py

# Installing has compiled everything; only what changed since is left to do. Modules that an earlier
# version compiled for one Python alone would be found before those for all.
$(VENV)/built: setup.py $(COMPILED) | $(VENV)/ready
	@find src -name '*.cpython-3*.so' -delete
	@if [ -n "$$(find $^ -newer $(VENV)/ready)" ]; then \
		echo 'Compiling what changed.'; \
		$(BIN)/python setup.py --quiet build_ext --inplace --parallel $(JOBS); \
	fi
	touch $@

# Wheel and source archive; each is installed into an empty environment and tried there.
dist: build
	$(BIN)/python requirements/build_dist.py

# Showdown's simulator, from npm. Where it cannot be had, the tests that need it say so and skip.
$(VENV)/showdown: src/lanista/games/showdown/package-lock.json | $(VENV)/built
	@if command -v npm > /dev/null; then \
		$(BIN)/python -m lanista.games.showdown.install && touch $@ \
			|| echo 'Without its simulator the tests of Showdown are skipped.'; \
	else \
		echo 'npm is not installed: the tests of Showdown are skipped.'; \
	fi

clean:
	rm -rf $(VENV) $(PEERS) $(TOOLS) $(DOCS) build dist src/*.egg-info
	find src -name '*.so' -delete
	find src -name '*.c' -delete
