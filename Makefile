# A fresh clone needs only Python 3.11 and make. `make` alone prints the targets.

VENV := .venv
BIN := $(VENV)/bin

# The first Python 3.11 found. Another interpreter: make test PYTHON=/path/to/python
PYTHON ?= $(firstword $(foreach p,python3.11 python3 python,$(if $(shell \
	$(p) -c 'import sys; print("yes" if sys.version_info[:2] == (3, 11) else "")' 2>/dev/null),$(p))))

# Installed before the package: the build backend, and the pinned torch, since the resolver may choose one with several
# gigabytes of GPU libraries.
BUILD := hatchling hatch-fancy-pypi-readme
PINNED_FIRST := $(BUILD) $(shell sed -n '/^torch==/p' constraints.txt)

# Test processes side by side.
WORKERS ?= 2
# One thread of torch in each.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS)

# -qq: errors only.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
INSTALL := $(PIP_INSTALL) --no-build-isolation --editable
INSTALLED_FROM := pyproject.toml constraints.txt noms_env/version.py

# Libraries with adapters. Their requirements conflict, so each has its own extra, constraints and environment.
LIBRARIES := $(patsubst tests/interop/%.txt,%,$(wildcard tests/interop/*.txt))

# Targets run one after another, since they install into the same environment; installed ones may run in parallel.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.PHONY: help demo table test lint suite uncompiled wheel soak browser mutation docs interop ptx cuda clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target text; do \
		printf '  make %-11s %s\n' "$$target" "$$text"; done

demo: $(VENV)/.installed-demo ## set up and run the demonstration, `noms demo`
	$(BIN)/noms demo

table: $(VENV)/.installed-table ## set up and play in the browser, `noms table`
	$(BIN)/noms table

test: $(VENV)/.installed-dev ## set up and run all checks: the four below
	@$(MAKE) --no-print-directory --jobs 2 SIDE_BY_SIDE=yes lint wheel
	@$(MAKE) --no-print-directory suite uncompiled

lint: $(VENV)/.installed-dev ## style, types and import floors
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

suite: $(VENV)/.installed-dev ## the quick tests
	$(PYTEST)

uncompiled: $(VENV)/.installed-dev ## the tests marked `uncompiled`, with the compiler off
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "uncompiled and not soak"

wheel: $(VENV)/.installed-dev ## build the wheel and try it in an empty environment outside of the checkout
	$(BIN)/python tests/check_wheel.py

browser: $(VENV)/.installed-browser ## the tests of the pages in the system's Chromium and Firefox
	$(BIN)/python -m pytest -q -m browser tests/browser

soak: $(VENV)/.installed-dev ## the long tests, marked `soak`
	$(PYTEST) -m soak

mutation: $(VENV)/.installed-dev ## the share of one-line errors that the tests catch, build/mutations.csv; takes hours
	nice -n 15 $(BIN)/python -m tests.mutation

docs: $(VENV)/.installed-docs ## make the documentation site, build/docs/index.html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d build/doctrees docs build/docs

interop: ## the tests with each library in an environment of its own; one: make interop-sb3
	@$(MAKE) --no-print-directory --keep-going $(LIBRARIES:%=interop-%)

interop-%: .interop/%/.installed
	OMP_NUM_THREADS=1 .interop/$*/bin/python -m pytest -q tests/interop/test_$*.py

ptx: .interop/ptx/.installed ## compile the kernels for GPUs; no GPU is needed, but 1 GB of libraries
	.interop/ptx/bin/python -m tests.cuda.ptx

# Another interpreter has its own libraries: make cuda PYTHON=python3
CUDA_PYTHON := $(if $(filter file default undefined,$(origin PYTHON)),$(BIN)/python,$(PYTHON))
cuda: $(if $(filter $(BIN)/%,$(CUDA_PYTHON)),$(VENV)/.installed-dev) ## bytes and speed on a GPU beside the processor, build/cuda.json
	$(CUDA_PYTHON) -m benchmarks.cuda

clean: ## remove the environment and everything that was built or cached
	rm -rf $(VENV) .interop build dist docs/policies .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find benchmarks docs examples noms_env training tests -name __pycache__ -prune -exec rm -rf {} +

# Stamps: an environment is installed again only if one of its sources changes.

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "Python 3.11 was not found (tried python3.11, python3 and python)." \
		"Install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed-demo: $(VENV)/.created $(INSTALLED_FROM)
	$(PIP_INSTALL) $(PINNED_FIRST)
	$(INSTALL) '.[plot,render,train]'
	@touch $@

$(VENV)/.installed-table: $(VENV)/.created $(INSTALLED_FROM)
	$(PIP_INSTALL) $(BUILD)
	$(INSTALL) '.[render,table]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.created $(INSTALLED_FROM)
	$(PIP_INSTALL) $(PINNED_FIRST)
	$(INSTALL) '.[dev]'
	@touch $(VENV)/.installed-demo $(VENV)/.installed-table $@

$(VENV)/.installed-browser: $(VENV)/.installed-dev $(INSTALLED_FROM)
	$(INSTALL) '.[browser,dev,docs]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.created $(INSTALLED_FROM)
	$(PIP_INSTALL) $(BUILD)
	$(INSTALL) '.[docs]'
	@touch $@

# Not from `constraints.txt`, since the libraries take 430 MB.
.interop/ptx/.installed: tests/cuda/ptx.txt pyproject.toml noms_env/version.py
	@test -n "$(PYTHON)" || { echo "Python 3.11 was not found; name it: make ptx PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .interop/ptx
	.interop/ptx/bin/python -m pip install -qq --disable-pip-version-check --constraint $< $(BUILD)
	.interop/ptx/bin/python -m pip install -qq --disable-pip-version-check --constraint $< --no-build-isolation \
		--editable '.[cuda12]'
	@touch $@

.PRECIOUS: .interop/%/.installed
.interop/%/.installed: tests/interop/%.txt pyproject.toml noms_env/version.py
	@test -n "$(PYTHON)" || { echo "Python 3.11 was not found; name it: make interop PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv --clear .interop/$*
	.interop/$*/bin/python -m pip install -qq --disable-pip-version-check --constraint $< $(BUILD) \
		$(shell sed -n '/^torch==/p' constraints.txt)
	.interop/$*/bin/python -m pip install -qq --disable-pip-version-check --constraint $< --no-build-isolation \
		--editable '.[render,test,train,$*]'
	@touch $@
