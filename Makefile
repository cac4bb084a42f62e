# `make help` lists the targets. Nothing here needs more than Python 3.11 to 3.13 with its venv module.

# the interpreter that .venv is made with
PYTHON ?= python3
# overrides for `make run`
ARGS ?=
# where `make ui` (5000) and `make dashboard` (8080) listen, and what they show: the MLflow store where
# MLFLOW_TRACKING_URI names none, and the folder of all runs or of one
PORT ?=
STORE ?=
ROOT ?= outputs
RUN ?=

# of `make landscape`
MODEL ?= cifar_mlp
CALM  ?= 1
# of `make faults`
KILLS ?= 50
# of `make fuzz`: cases of each kind, and where their drawing starts
CASES ?= 1000
SEED  := $(or $(SEED),$(shell date +%s))

VENV  := .venv
PY    := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PIP   := $(PY) -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup setup-gpu run ui dashboard test test-fast test-long fuzz faults check format bench bench-truth landscape lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make .venv and install the pinned dependencies; does nothing when they are there

# The stamp is written last, so an interrupted installation is taken up again. pip would compile on one core; of what
# does not compile there are templates in some packages.
$(STAMP): requirements.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || { \
	  echo "make: Python 3.11 to 3.13 is needed, but PYTHON=$(PYTHON) is $$("$(PYTHON)" --version 2>&1 | tail -n 1); try: make setup PYTHON=python3.12" >&2; \
	  exit 1; }
	@"$(PYTHON)" -m venv $(VENV)
	@echo "Installing into $(VENV) (TensorFlow is large: this takes a few minutes, once)"
	@$(PIP) install --quiet --no-compile --requirement requirements.lock
	@$(PY) -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	@PYTHONWARNINGS=ignore $(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

setup-gpu: setup ## Add CUDA and cuDNN from the package registry, for an NVIDIA GPU
	@$(PIP) install --no-build-isolation --editable '.[gpu]'

# Exit status 3 says "no candidate was feasible and faster than float32": an answer, not a fault.
run: setup ## Run the autotuner; overrides in ARGS="model=cifar_cnn hw=rtx2060"
	@status=0; $(PY) -m autotune $(ARGS) || status=$$?; \
	if [ $$status -eq 3 ]; then \
	  echo "make run: no feasible configuration beat the float32 baseline (exit status 3, a result)"; \
	else exit $$status; fi

ui: setup ## Open MLflow on the last study, in STORE=file, else MLFLOW_TRACKING_URI, else outputs/mlflow.db (PORT=5000)
	@$(PY) -P -m autotune.viewers.ui $(if $(STORE),--store "$(STORE)") --port $(or $(PORT),5000)

dashboard: setup ## Open the Optuna dashboard on the last run below ROOT=outputs, or on RUN=outputs/... (PORT=8080)
	@$(PY) -P -m autotune.viewers.dashboard --root "$(ROOT)" --port $(or $(PORT),8080) $(if $(RUN),--run "$(RUN)")

# Two at a time, by files: most of the slow ones wait for processes that they started.
test: check ## Run everything that CI runs: the checks and all tests
	@$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-fast: setup ## Run the unit tests only: seconds, no TensorFlow
	@$(PY) -m pytest -n auto -m 'not slow and not long and not gpu and not browser and not bench and not truth'

test-long: setup ## Run the long tests, for which CI has no time
	@$(PY) -m pytest -m long

# Each of the four tests in tests/fuzz gets as many cases; what fails is kept in .pytest_cache and tried first next time.
fuzz: setup ## Try many random command lines and files (CASES=1000 of each kind, SEED=a random one)
	@echo "fuzz: $(CASES) cases of each kind; make fuzz CASES=$(CASES) SEED=$(SEED) tries the same again"
	@FUZZ_CASES=$(CASES) $(PY) -m pytest tests/fuzz --timeout 0 --hypothesis-seed=$(SEED)

faults: setup ## Kill a short study fifty times at random moments, and go on with it (KILLS=50)
	@FAULTS_KILLS=$(KILLS) $(PY) -m pytest tests/faults/test_kills.py --timeout 0 -s

check: setup ## Lint, format and type checks
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: setup ## Format the code and apply safe fixes
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

# Each file says what it measures, how long it takes and what is promised; a target that is missed fails.
bench: setup ## Run the benchmarks in tests/benchmarks (an hour and more, on a quiet machine)
	@$(PY) -m pytest tests/benchmarks -m bench -s

# Each file says what it measures, how long it takes and how to shrink it; TRUTH_RECORD=1 renews the recorded noise.
bench-truth: setup ## Show on real timings that figures can be trusted (an hour or more, on a quiet machine)
	@$(PY) -m pytest tests/benchmarks/truth -m truth -s

# What replayed searches are served. Killed, it goes on from outputs/landscapes; others' load is waited out above CALM.
landscape: setup ## Measure a whole grid for the search's benchmark (MODEL=cifar_mlp, CALM=1 share of cores others may use)
	@$(PY) -m tests.benchmarks.search.measure $(MODEL) --calm $(CALM)

# A pin stays as it is while the ranges of pyproject.toml allow it; UPGRADE=1 moves all to the newest.
lock: setup ## Refresh requirements.lock from pyproject.toml (UPGRADE=1: newest versions)
	@UV_CUSTOM_COMPILE_COMMAND='make lock' $(PY) -m uv pip compile --quiet --universal --python-version 3.11 \
	  --extra dev --generate-hashes --no-annotate $(if $(UPGRADE),--upgrade) \
	  --output-file requirements.lock pyproject.toml

clean: ## Remove .venv, builds and caches; outputs/ stays
	@rm -rf $(VENV) build dist ./*.egg-info .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
