# Everything a fresh machine with Python 3.11 and make needs. `make demo`, `make test`, `make quick`, `make check`, `make bench`, `make fuzz`.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test quick check bench fuzz kill-test results clean
.DEFAULT_GOAL := demo

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Installed again only when what is to be installed changed, so a second run needs no network.
.venv/run.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[report]'
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[report,dev]'
	@touch .venv/run.stamp $@

demo: .venv/run.stamp
	$(BIN)/trueness run roar-synthetic --store runs/demo
	$(BIN)/trueness report roar-synthetic --store runs/demo

test: check
	$(BIN)/pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder

# What most changes need: no whole studies; under 90 seconds on two cores.
quick: .venv/dev.stamp
	$(BIN)/pytest --numprocesses=2 --dist=loadfile -m "not slow"

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/update_docs.py --check

bench: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

# Hostile input to every reader: FUZZ_INPUTS=20000, FUZZ_SECONDS=600, FUZZ_SEED=0. Fails where anything but a sentence comes.
fuzz: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz

# Drivers of all built-in studies killed at random moments, on every engine: KILLS=100, KILL_SEED=0. About 20 minutes.
kill-test: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.kills results/robustness/kills.json

# The measured results kept in the project; takes about two minutes on two cores.
results: .venv/run.stamp
	$(BIN)/trueness run roar-synthetic --store runs/results
	$(BIN)/trueness report roar-synthetic --store runs/results --out runs/results/roar-synthetic.html
	mkdir -p results/roar-synthetic docs/images
	$(BIN)/trueness compare roar-synthetic --store runs/results --json > results/roar-synthetic/compare.json
	cp runs/results/roar-synthetic.png docs/images/roar-synthetic.png
	$(BIN)/python tools/update_docs.py

clean:
	rm -rf .venv runs
