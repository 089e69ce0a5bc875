# make demo      the full pipeline in a few minutes: construct, curate, run, report (AUTHOR=local: a 1.5B model writes)
# make demo-events  the same for events, in under ten minutes: templates and topics, routers, the report
# make demo-documents  the same for documents, in some minutes: probes, specificity, methods by level, the report
# make test      all quick tests; ends with pytest's own line (N passed, N failed, N skipped)
# make check     lint, types, import contracts, tests
# make format    lay out and tidy the code in place
# make wheel     the package, in dist/
# make coverage  the quick tests with a table of the lines that no test reaches (TESTS=tests/schemas: those alone)
# Each target does its own set-up. Another Python: make test PYTHON=python3.12
# Another torch build (CUDA, ROCm): make demo TORCH="<the arguments of pip install for it>"

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
TORCH ?= torch==2.13.0
TESTS ?= tests
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check
OUT ?= demo
AUTHOR ?= embedded

# Python keeps what it has compiled, whatever the environment says: hundreds of processes start in the tests.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo demo-events demo-documents test test-slow check lint types imports format coverage bench docs wheel build label-studio setup clean
.DEFAULT_GOAL := check

setup: $(READY)

$(READY): pyproject.toml constraints.txt curation/files/model_packages.py
	@test -n "$(PYTHON)" || { echo "Error: no Python 3.11 or newer was found; install one, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (some minutes the first time) ..."
	@$(PIP) install --quiet $(TORCH)
	@sh tests/build/install.sh $(VENV) -c constraints.txt -e ".[eval,ray,annotate,label-studio,local,parse,dev]"
	@$(BIN)/scedit model fetch embedded
	@touch $(READY)

demo: $(READY)
	@$(BIN)/scedit demo --out $(OUT) --model $(AUTHOR)

demo-events: $(READY)
	@$(BIN)/scedit demo --events --model $(AUTHOR) --out $(if $(filter file,$(origin OUT)),demo-events,$(OUT))

demo-documents: $(READY)
	@$(BIN)/scedit demo --documents --model $(AUTHOR) --out $(if $(filter file,$(origin OUT)),demo-documents,$(OUT))

test: $(READY)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --durations=10 -m "not slow and not gpu and not api"

test-slow: $(READY)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --durations=40 -m "slow and not gpu and not api" \
	  $$(grep -rl --include="*.py" mark.slow tests)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

coverage: $(READY)
	@$(BIN)/coverage erase
	@OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -n 3 --dist loadfile -m "not slow and not gpu and not api" $(TESTS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

types: $(READY)
	@$(BIN)/mypy

imports: $(READY)
	@$(BIN)/lint-imports

check: lint types imports test

docs: $(READY)
	@$(BIN)/python docs/generate.py --check
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

label-studio: .venv-label-studio/.ready

.venv-label-studio/.ready: constraints-label-studio.txt
	@test -x .venv-label-studio/bin/python || $(PYTHON) -m venv .venv-label-studio
	@echo "Setting up Label Studio in .venv-label-studio (some minutes, 0.8 GB) ..."
	@sh tests/build/install.sh .venv-label-studio -c constraints-label-studio.txt label-studio
	@touch $@

bench: $(READY)
	@$(BIN)/python benchmarks/run.py
	@$(BIN)/python -m benchmarks.curation --n 100000

wheel: $(READY)
	@$(BIN)/python -m build --quiet --wheel

build: $(READY)
	@VENV=$(VENV) PYTHON="$(PYTHON)" TORCH="$(TORCH)" sh tests/build/try_wheel.sh

clean:
	rm -rf build dist site *.egg-info .coverage .coverage.*
