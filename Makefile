# Each goal sets itself up from a clean clone: python3 (3.11 or newer) is all that it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench
JOBS ?= 2
MINUTES ?= 1
SEED ?= 0
CHECKED := src tests examples benchmarks

.PHONY: help setup demo test test-all lint types bench bench-gpu fuzz clean
.NOTPARALLEL:

help:
	@echo "make demo   differentiate both example programs"
	@echo "make test   lint, format, types, tests, code blocks of the documentation"
	@echo "make test-all  every combination of the wide grids as well (long)"
	@echo "make bench  the speed tables (QUICK=1: small sizes; ENZYME=DIR: beside real Enzyme)"
	@echo "make bench-gpu  the table of a CUDA device (CuPy and JAX for CUDA installed by hand)"
	@echo "make fuzz   random programs against every check (MINUTES=1: four times, SEED=0)"

setup: $(READY)

$(READY): pyproject.toml requirements-test.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adjit needs Python 3.11 or newer: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt -e .
	touch $@

$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

demo: $(READY)
	$(BIN)/adjit demo particles
	$(BIN)/adjit demo gauss-seidel

test: lint types
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q

test-all: lint types
	ADJIT_CASES=full $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q --slow

lint: $(READY)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)

types: $(READY)
	$(BIN)/basedpyright

bench: $(BENCH_READY)
	$(BIN)/python benchmarks/core.py $(if $(QUICK),--quick) $(if $(ENZYME),--enzyme $(ENZYME))
	$(BIN)/python benchmarks/arrays.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/parallel.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/forward.py $(if $(QUICK),--quick)

bench-gpu: $(READY)
	$(BIN)/python benchmarks/gpu.py $(if $(QUICK),--quick)

fuzz: $(READY)
	$(BIN)/adjit fuzz --minutes $(MINUTES) --seed $(SEED) --folder build/fuzz --jobs $(JOBS)
	$(BIN)/adjit fuzz --minutes $(MINUTES) --seed $(SEED) --folder build/fuzz --jobs $(JOBS) --arrays
	$(BIN)/adjit fuzz --minutes $(MINUTES) --seed $(SEED) --folder build/fuzz --jobs $(JOBS) --compiled
	$(BIN)/adjit fuzz --minutes $(MINUTES) --seed $(SEED) --folder build/fuzz --jobs $(JOBS) --boundscheck

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache
