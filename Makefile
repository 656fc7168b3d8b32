# Everything a contributor runs. Each target makes the environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.DEFAULT_GOAL := help
.PHONY: help demo docs system-programs test test-slow test-studio test-lowest check lint format bench paper results verify-results test-gpu bench-gpu small-and-noisy ablations many-rows bench-large clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | awk -F ':.*  ## ' '{printf "  make %-15s %s\n", $$1, $$2}'

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

$(VENV)/.ready-bench: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,bench]"
	touch $@

demo: $(VENV)/.ready  ## train on data that comes with scikit-learn, then fit, show, export, predict and report from the shell (about a minute)
	$(BIN)/python tools/demo.py
	@echo; echo "The same from the shell:"
	$(BIN)/symgrove fit build/friedman.csv --target y --generations 50 --max-terms 20 --max-size 9 --calibration 0.2 -o build/friedman.json
	$(BIN)/symgrove show build/friedman.json --members 1
	$(BIN)/symgrove export build/friedman.json --to c -o build/friedman.c
	$(BIN)/symgrove predict build/friedman.json build/friedman.csv -o build/predicted.csv
	head -n 3 build/predicted.csv
	$(BIN)/symgrove report build/friedman.json build/friedman.csv --title "Friedman 1" -o build/report.html

system-programs:  ## install what tests use (a C compiler, Node, Gnumeric, Chromium) from Debian's packages
	$(SUDO) apt-get update --quiet
	$(SUDO) apt-get install --yes --quiet --no-install-recommends gcc libc6-dev nodejs gnumeric chromium chromium-driver

test: lint  ## all checks, the whole test suite, and a smoke test of the built wheel (about 6 minutes, environment included)
	$(BIN)/python tools/compile_kernels.py
	$(BIN)/python -m pytest -q -n 2 --dist worksteal
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(BIN)/python -m pip install --quiet --no-deps --target build/installed build/wheel/*.whl
	cd build && PYTHONPATH=installed ../$(BIN)/python ../tools/smoke.py installed

test-slow: $(VENV)/.ready  ## scikit-learn's checks with the default parameters, 65 kills of runs, 500 damaged checkpoints, 2,000 damaged model files (about 12 minutes)
	$(BIN)/python -m pytest -q -m slow -n 2

test-studio: $(VENV)/.ready  ## the studio in Chromium, all of it: two runs, a stopped one that goes on, the report, every download (about a minute)
	$(BIN)/python -m pytest -q tests/studio -m "slow or not slow"

check: lint  ## format, lint, types, import layers, file and function sizes, links in docs
	$(BIN)/python -m pytest -q tests/architecture -k "not blocks"

lint: $(VENV)/.ready  ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready  ## format the code and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test-lowest:  ## the test suite with the oldest allowed dependencies, in an environment of its own
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade pip
	.venv-lowest/bin/python tools/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable ".[dev]"
	.venv-lowest/bin/python -m pytest -q -n 2 --dist worksteal

$(VENV)/.ready-docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,docs]"
	touch $@

docs: $(VENV)/.ready-docs  ## build the documentation site into build/site, run its examples, check links (two to four minutes)
	$(BIN)/python tools/compile_kernels.py
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/architecture/test_docs.py tests/architecture/test_site.py tests/test_examples_of_names.py
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/make_site.py

bench: $(VENV)/.ready-bench  ## measure: ratios against peers and against ourselves, one table (about 3 minutes)
	$(BIN)/python -m benchmarks

$(VENV)/.ready-cuda: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,cuda]"
	touch $@

test-gpu: $(VENV)/.ready-cuda  ## the tests of engines on this machine's card (a minute and a half)
	$(BIN)/symgrove doctor
	$(BIN)/python -m pytest -q tests/engines/test_cuda.py tests/contracts/test_engines.py tests/contracts/test_vectors.py -k "cuda and not played"

bench-gpu: $(VENV)/.ready-cuda  ## measure on this machine's card: bandwidth, evaluation, whole fits (about a quarter of an hour)
	$(BIN)/python tools/bench_gpu.py

$(VENV)/.ready-paper: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,trees]"
	touch $@

paper: $(VENV)/.ready-paper  ## rerun all studies into docs/results and docs/results.md (hours; needs the data or a network)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/symgrove paper all --jobs 2 --out docs/results

results: $(VENV)/.ready-paper  ## tables, figures and docs/results.md again, from the rows that are there; no runs
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/symgrove paper all --only-show --out docs/results

verify-results: $(VENV)/.ready  ## run three of the committed results again and compare (needs the data or a network)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/verify_results.py

small-and-noisy: $(VENV)/.ready  ## Grove on few rows and on noise, beside ridge regression and a forest (half an hour; needs the data)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/small_and_noisy.py 20 2

ablations: $(VENV)/.ready  ## what each choice in Grove is worth, into docs/ablations.md (hours; resumes; needs the data)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/ablations.py 2

$(VENV)/.ready-tables: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --editable ".[dev,trees,tables]"
	touch $@

many-rows: $(VENV)/.ready-tables  ## time, memory and error from 50 to 1,000,000 rows beside boosted trees, into docs/many-rows.md (half a day; resumes; needs the data)
	$(BIN)/python tools/many_rows.py

bench-large: $(VENV)/.ready  ## Grove and 2SEGP on Parquet files of GIGABYTES (20) in build/large: seconds, passes, memory of all processes
	test -d build/large || $(BIN)/python tools/large_parquet.py make build/large --gigabytes $(or $(GIGABYTES),20)
	$(BIN)/python tools/large_parquet.py fit build/large --jobs 2 --memory-budget 1000000000
	$(BIN)/python tools/large_parquet.py fit build/large --method 2SEGP --generations 2 --dtype float32 --jobs 2 --memory-budget 2000000000

clean:  ## remove environments, builds and caches
	rm -rf $(VENV) .venv-lowest build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
