# The two commands of the README are `make demo` and `make test`; each makes what it needs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OUT ?= out
SEEDS ?= 60
CHANGES ?= 400
SEED ?= 1
FLINK_TESTS ?= tests/flink

# uv installs in a tenth of pip's time.
INSTALL := $(BIN)/uv pip install --quiet --python
NEW := $(BIN)/uv venv --quiet --seed --clear --python

# Tests start hundreds of processes, which would each compile the package again. What an environment has is compiled when
# it is first imported, as most of it never is.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test coverage lint bench calibrate abuse attacks laws install-tex test-dist release-check test-airflow test-lowest test-s3 test-stores test-exports mutants flink test-flink test-page picture clean help

help:
	@echo "make demo         evaluate the sample corpora of all benchmarks and write their reports to out/demo"
	@echo "make test         run all tests"
	@echo "make lint         check style and types"
	@echo "make bench        measure what an evaluation costs"
	@echo "make calibrate    measure how often intervals, tests and gates hold, and write the tables in docs/"
	@echo "make coverage     run all tests and list the lines that no test runs"
	@echo "make laws         run the property tests with ten times as many examples, new ones each time"
	@echo "make abuse        score worst cases among ordinary samples and measure their cost (CASES=\"chart readers\" for a part)"
	@echo "make attacks      interrupt, kill, damage, copy, reuse and merge whole runs (SEEDS=60)"
	@echo "make test-dist    install the source distribution into a new environment, run it there, and in the process of others"
	@echo "make release-check  build what is committed, and run the demo (without extras) and all tests with the wheel on the oldest and newest Python here"
	@echo "make test-airflow run the nightly DAG in Airflow: a passing, a failing and an inconclusive night"
	@echo "                  (PROVIDERS=\"apache-airflow-providers-apache-beam apache-airflow-providers-google\" adds that of Dataflow)"
	@echo "make test-s3      run the commands against an S3 server on this machine, and kill them while they publish"
	@echo "make test-stores  the same, and against a Google Cloud Storage server"
	@echo "make test-exports export runs to MLflow and W&B on this machine"
	@echo "make test-lowest  run all tests with the lowest versions of setup.py, on the oldest Python here"
	@echo "make mutants      change the code in 400 places, one at a time, and list the changes that no test notices (CHANGES=400 SEED=1)"
	@echo "make flink        evaluate a sample corpus on a Flink cluster of this machine"
	@echo "make test-flink   all benchmarks, 60,000 samples, and faults, on Flink"
	@echo "make test-page    open reports in a headless Chromium; screenshots are in out/page"
	@echo "make picture      take the screenshot of report.html that the README shows"
	@echo "make clean        remove the environment and all output"

$(READY): setup.py Makefile
	@echo "making the environment in $(VENV): Beam, SciPy, pyarrow and others, about 1 GB"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "beamscore needs Python 3.10 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@# Mirrors that pip.conf names are not known to uv.
	$(INSTALL) $(BIN)/python --editable '.[dev]' || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@

install-tex:
	@sh .ci/install-tex || echo "TeX could not be installed: the formula benchmark will not run; all else does" >&2

# TeX, which takes longest to install, is not needed before the last one.
demo: $(READY)
	@set -e; for benchmark in $$($(BIN)/beamscore benchmarks --names | grep -vx formula); do \
		$(MAKE) --no-print-directory demo-$$benchmark; \
	done
	@$(MAKE) --no-print-directory install-tex
	@$(MAKE) --no-print-directory demo-formula

demo-%: $(READY)
	@echo "== $*"
	@$(BIN)/beamscore evaluate configs/$*.yaml \
		--ground-truth tests/corpora/$*/ground_truth.jsonl \
		--predictions tests/corpora/$*/predictions.jsonl \
		--slice source --output $(OUT)/demo/$*

test: $(READY) install-tex
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) install-tex
	$(BIN)/python -m tests.bench

calibrate: $(READY)
	$(BIN)/python -m tests.calibrate
	$(BIN)/python -m tests.calibrate.years

coverage: $(READY) install-tex
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --cov --cov-report=term:skip-covered --cov-report=html

abuse: $(READY) install-tex
	$(BIN)/python -m tests.abuse $(CASES)

laws: $(READY) install-tex
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m hypothesis --hypothesis-profile=laws

attacks: $(READY) install-tex
	BEAMSCORE_SEEDS=$(SEEDS) $(BIN)/python -m pytest -m attacks --numprocesses 2 --dist worksteal

test-dist: $(READY) install-tex
	$(BIN)/python -m pytest -m dist --numprocesses 2 --dist loadfile tests/installed

# With the wheel, on the oldest and the newest Python here; half an hour.
release-check: $(READY)
	$(BIN)/python -m tests.installed.release $(OUT)/release

test-airflow: $(READY)
	test -x $(VENV)-airflow/bin/airflow || { $(NEW) $(PYTHON) $(VENV)-airflow && \
		$(INSTALL) $(VENV)-airflow/bin/python "apache-airflow>=3,<4" apache-airflow-providers-standard $(PROVIDERS); }
	AIRFLOW=$(abspath $(VENV))-airflow/bin/airflow $(BIN)/python -m pytest -m airflow tests/airflow

# The servers and the clients of the stores have an environment of their own.
test-s3: $(READY)
	$(MAKE) --no-print-directory $(VENV)-stores/.s3
	$(VENV)-stores/bin/python -m pytest -m stores -k s3 --numprocesses 2 --dist worksteal tests/stores

test-stores: $(READY)
	$(MAKE) --no-print-directory $(VENV)-stores/.gcs
	$(VENV)-stores/bin/python -m pytest -m stores --numprocesses 2 --dist worksteal tests/stores

# MLflow and W&B lie beside the clients of the stores.
test-exports: $(VENV)-stores/.s3
	test -e $(VENV)-stores/.exports || { $(INSTALL) $(VENV)-stores/bin/python --editable '.[mlflow,wandb]' && \
		touch $(VENV)-stores/.exports; }
	$(VENV)-stores/bin/python -m pytest tests/pipelines/export

$(VENV)-stores/.s3: $(READY)
	$(NEW) $(BIN)/python $(VENV)-stores
	$(INSTALL) $(VENV)-stores/bin/python --editable '.[dev]' boto3 "moto[server]>=5,<6"
	@touch $@

$(VENV)-stores/.gcs: $(VENV)-stores/.s3
	$(INSTALL) $(VENV)-stores/bin/python "apache-beam[gcp]" gcp-storage-emulator
	@touch $@

test-lowest: $(READY) install-tex
	$(NEW) $$($(BIN)/python -m tests.installed.pythons | head -1) $(VENV)-lowest
	$(INSTALL) $(VENV)-lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	$(VENV)-lowest/bin/python -m pytest --numprocesses 2 --dist worksteal $(TESTS)

mutants: $(READY) install-tex
	test -x $(VENV)-mutants/bin/cosmic-ray || { $(NEW) $(BIN)/python $(VENV)-mutants && \
		$(INSTALL) $(VENV)-mutants/bin/python "cosmic-ray>=8.3,<9"; }
	$(BIN)/python -m tests.mutants $(VENV)-mutants/bin/python $(OUT)/mutants $(CHANGES) $(SEED)

flink: $(READY)
	$(BIN)/python -m tests.flink $(BIN)/beamscore evaluate configs/chart.yaml \
		--ground-truth $(CURDIR)/tests/corpora/chart/ground_truth.jsonl \
		--predictions $(CURDIR)/tests/corpora/chart/predictions.jsonl \
		--slice source --output $(abspath $(OUT))/flink/chart

test-flink: $(READY) install-tex
	$(BIN)/python -m pytest -m flink -o timeout=1200 $(FLINK_TESTS)

picture: $(READY) demo
	@sh .ci/install-browser
	$(BIN)/python -m tests.page.picture $(OUT)/demo/chart/report.html docs/report.png

# The scripts that test a page come from npm in the versions of package-lock.json.
tests/page/node_modules/.ready: tests/page/package-lock.json
	npm ci --prefix tests/page --no-audit --no-fund --loglevel=error
	@touch $@

test-page: $(READY) install-tex tests/page/node_modules/.ready
	@sh .ci/install-browser
	tests/page/node_modules/.bin/tsc --project tests/page
	tests/page/node_modules/.bin/eslint --config tests/page/eslint.config.mjs pipelines/reports/scripts
	$(BIN)/python -m pytest -m page -o timeout=600 --numprocesses 2 --dist worksteal tests/page

clean:
	rm -rf $(VENV) $(VENV)-airflow $(VENV)-lowest $(VENV)-mutants $(VENV)-stores tests/page/node_modules $(OUT) build *.egg-info
