# Everything a fresh machine with Python 3.11 and make needs. `make demo`, `make readme`, `make test`, `make quick`, `make check`, `make bench`, `make fuzz`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# First everything whose hash is known, then the rest: torch, whose builds differ by where they come from, and trueness.
LOCKED := $(PIP) --require-hashes --no-deps --requirement
INSTALL := $(PIP) --constraint constraints.txt --no-build-isolation
TOOLS := .venv/tools/bin

.PHONY: demo readme test long quick check bench bench-peers fuzz kill-test mutate coverage wheel docs locks licences sbom advisories soak results clean
.DEFAULT_GOAL := demo

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Installed again only when what is to be installed changed, so a second run needs no network.
.venv/run.stamp: pyproject.toml constraints.txt locks/run.txt | .venv/bin/python
	$(LOCKED) locks/run.txt
	$(INSTALL) --editable '.[report,data,serve]'
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt locks/dev.txt | .venv/bin/python
	$(LOCKED) locks/dev.txt
	$(INSTALL) --editable '.[report,dev]'
	@touch .venv/run.stamp $@

# A small classifier of real sentences, and which explanations of it may be shown: under five minutes on two cores.
# Results are kept in runs, as by every command.
demo: .venv/run.stamp
	$(BIN)/trueness demo

# What the README tells a person to run, on the demo's model.
readme: demo
	OMP_NUM_THREADS=1 $(BIN)/python tools/run_readme.py

test: check
	$(BIN)/pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder -m "not long"

# What `make test` leaves out: single tests that take half a minute or more.
long: .venv/dev.stamp
	$(BIN)/pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder -m long

# What most changes need: no whole studies; under 90 seconds on two cores.
quick: .venv/dev.stamp
	$(BIN)/pytest --numprocesses=2 --dist=loadfile -m "not slow and not long"

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/update_docs.py --check
	$(BIN)/python tools/dependencies.py licences

bench: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

# The same explanations by Captum, shap and lime, in an environment of their own; fails where one of them is ahead.
bench-peers: .venv/dev.stamp .venv/peers/done .venv/ferret/done
	OMP_NUM_THREADS=1 PYTHONPATH=src:. .venv/peers/bin/python -m benchmarks.peers --tokens 24,200 --ferret .venv/ferret/bin/python --out results/benchmarks

# What conflicts with our versions stays there; torch and all else is ours.
.venv/peers/done:
	$(BIN)/python -m venv .venv/peers
	$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > "$$(.venv/peers/bin/python -c 'import site; print(site.getsitepackages()[0])')/ours.pth"
	.venv/peers/bin/pip install --quiet --disable-pip-version-check -c constraints.txt shap lime 'nnsight>=0.7,<0.8' 'jaxtyping<=0.2.36' beartype nltk einops
	.venv/peers/bin/pip install --quiet --disable-pip-version-check --no-deps interpreto
	@touch $@

# ferret wants older versions of nearly everything.
.venv/ferret/done:
	$(PYTHON) -m venv .venv/ferret
	.venv/ferret/bin/pip install --quiet --disable-pip-version-check "$$(grep ^torch== constraints.txt)" ferret-xai 'pyarrow<20'
	@touch $@

# Hostile input to every reader: FUZZ_INPUTS=20000, FUZZ_SECONDS=600, FUZZ_SEED=0. Fails where anything but a sentence comes.
fuzz: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz

# Drivers of all built-in studies killed at random moments, on every engine: KILLS=100, KILL_SEED=0. About half an hour.
kill-test: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.kills results/robustness/kills.json

# Audits, studies, serve and rate on one store with random kills: MINUTES=240; DISK=a small file system that may be filled.
MINUTES ?= 240
soak: .venv/run.stamp
	OMP_NUM_THREADS=1 $(BIN)/python tools/soak.py --minutes $(MINUTES) $(if $(DISK),--disk $(DISK)) results/robustness/soak.json

# After a change of pyproject.toml or constraints.txt: the hashes of all files of all dependencies, for every platform.
locks: | .venv/bin/python
	$(BIN)/python -m venv .venv/tools
	$(TOOLS)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/python tools/lock.py $(TOOLS)/uv

# Fails where a dependency is under the GPL, LGPL or AGPL.
licences: .venv/dev.stamp
	$(BIN)/python tools/dependencies.py licences

# The software bill of materials.
sbom: .venv/dev.stamp
	$(BIN)/python tools/dependencies.py sbom docs/sbom.cdx.json

# Locked packages with known faults: OSV=all.zip, as https://osv.dev exports it for PyPI. Nothing is asked of anybody.
advisories: .venv/dev.stamp
	$(BIN)/python tools/advisories.py locks/dev.txt "$(OSV)"

# Mutation testing of stats, protocols or engine: how many small changes of the code do its tests notice?
PART ?= stats
mutate: .venv/dev.stamp
	$(PYTHON) -m venv .venv/mutation
	.venv/mutation/bin/pip install --quiet --disable-pip-version-check 'mutmut==3.8.0' 'pytest<9'
	.venv/mutation/bin/python tools/mutate.py $(PART) $(SAMPLE) $(DRAW)

# Which lines the quick tests never run.
coverage: .venv/dev.stamp
	$(PIP) 'pytest-cov==7.1.0'
	$(BIN)/pytest --numprocesses=2 --dist=loadfile -m "not slow and not long" --cov=trueness --cov-report=term:skip-covered --cov-report=html:build/coverage

# A wheel in dist/, installed into an environment of its own, and the demo run with it in a folder without the repository.
wheel: .venv/run.stamp
	rm -rf dist .venv/wheel
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	$(PYTHON) -m venv .venv/wheel
	.venv/wheel/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt "$$(ls $(CURDIR)/dist/*.whl)[report,data]"
	rm -rf build/wheel && mkdir -p build/wheel
	cd build/wheel && ../../.venv/wheel/bin/trueness demo

# The site, in build/docs: every warning is an error and every link inside it is followed.
docs: .venv/dev.stamp
	$(PYTHON) -m venv .venv/docs
	.venv/docs/bin/pip install --quiet --disable-pip-version-check $$($(PYTHON) tools/build_docs.py requirements)
	.venv/docs/bin/python tools/build_docs.py

# The measured results kept in the project; takes about two minutes on two cores.
results: .venv/run.stamp
	$(BIN)/trueness run roar-synthetic
	$(BIN)/trueness report roar-synthetic --out build/roar-synthetic.html
	mkdir -p results/roar-synthetic docs/images
	$(BIN)/trueness compare roar-synthetic --json > results/roar-synthetic/compare.json
	cp build/roar-synthetic.png docs/images/roar-synthetic.png
	$(BIN)/python tools/update_docs.py

clean:
	rm -rf .venv build demo runs
