# The two commands of the README are `make demo` and `make test`; each makes what it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCHMARKS := chart chemistry figure_text formula traffic_rules
OUT ?= out

.PHONY: demo test lint bench install-tex clean help

help:
	@echo "make demo   evaluate the sample corpora of every benchmark; tells where the reports lie"
	@echo "make test   run all tests"
	@echo "make lint   check style and types"
	@echo "make bench  measure what an evaluation costs (SECTIONS=\"pipeline chart\" for a part)"
	@echo "make clean  remove the environment and all output"

$(READY): setup.py Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "beamscore needs Python 3.10 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

install-tex:
	@sh .ci/install-tex || echo "TeX could not be installed: the formula benchmark will not run; all else does" >&2

demo: $(READY) install-tex
	@set -e; for benchmark in $(BENCHMARKS); do \
		echo "== $$benchmark"; \
		$(BIN)/beamscore evaluate configs/$$benchmark.yaml \
			--ground-truth tests/corpora/$$benchmark/ground_truth.jsonl \
			--predictions tests/corpora/$$benchmark/predictions.jsonl \
			--slice source --output $(OUT)/demo/$$benchmark; \
	done

test: $(READY) install-tex
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) install-tex
	$(BIN)/python -m tests.bench $(SECTIONS)

clean:
	rm -rf $(VENV) $(OUT) build *.egg-info
