# Two commands do everything: `make repro` (a trained translator that answers), `make test`.
PYTHON ?= python3
VENV := .venv
# What installs the packages: uv, or pip.
INSTALLER ?= uv
# Of pyproject.toml; `make EXTRAS=train,dev,team` has what a team's servers need too.
EXTRAS ?= train,dev
INSTALLED := $(VENV)/.installed
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
# Where it is set, each of many processes compiles the packages anew: PyTorch alone takes 2 seconds.
unexport PYTHONDONTWRITEBYTECODE
# Two test processes of one thread each beat one process of two threads. Files come in the order of
# tests/conftest.py, so that none that takes minutes is begun when the others are done.
TEST := OMP_NUM_THREADS=1 pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Where `make ui` listens.
PORT ?= 5000

.PHONY: help setup repro test test-all lint ui experiments sweep serve

help:
	@echo "make repro     install if missing, run the pipeline, translate a sentence"
	@echo "make test      install if missing, then lint, types, quick tests"
	@echo "make test-all  the same with the slow tests"
	@echo "make ui        compare the runs in MLflow's browser interface (PORT=5000)"
	@echo "make serve     translate over HTTP, on this machine (docs/serving.md)"
	@echo "make experiments  a table of the experiments of all commits, the best first"
	@echo "make sweep     a grid of experiments, run by DVC's queue, with a picture"

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt tools/install.py
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	python tools/install.py --installer $(INSTALLER) --extras $(EXTRAS)
	touch $@

repro: setup
	dvc repro
	-python -m pipeline sync
	python -m pipeline translate "Il vit au Japon."

lint: setup
	ruff check .
	ruff format --check .
	mypy

test: lint
	$(TEST) -m "not slow"

test-all: lint
	$(TEST)

ui: setup
	python -m pipeline ui --port $(PORT)

serve: setup
	python -m pipeline serve

experiments: setup
	python -m pipeline experiments

sweep: setup
	python -m pipeline sweep
