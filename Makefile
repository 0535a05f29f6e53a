# Everything goes through here; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO := build/demo
CORPUS ?= build/corpus
PLACE ?= src/cuvet/model
COUNT ?= 300
SEED ?= 1
NATIVE_SOURCES = git ls-files --cached --others --exclude-standard 'native/*.cpp' 'native/*.h' 'examples/*.cpp'

.DEFAULT_GOAL := help
.PHONY: help requirements setup native demo sanitized test mutants lint format types generate docs site man wheel bench hardware clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) native ## make .venv with everything that development needs

requirements:
	@command -v $(PYTHON) >/dev/null || { echo "cuvet needs Python 3.10 or newer: install it, or name it with make PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "cuvet needs Python 3.10 or newer; $(PYTHON) is older: name another with make PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "$(PYTHON) cannot make environments: install its venv package (Debian, Ubuntu: python3-venv)" >&2; exit 2; }
	@set -- $${CXX:-c++}; command -v "$$1" >/dev/null \
		|| { echo "a C++17 compiler is missing: install one (Debian, Ubuntu: g++; Fedora: gcc-c++), or set CXX" >&2; exit 2; }

$(INSTALLED): pyproject.toml | requirements
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

native: $(INSTALLED) ## build the shim and the emulated device's libraries into src/cuvet/_native
	@test -f build/native/build.ninja || PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/native -G Ninja
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/native

demo: requirements ## install the package and diagnose an example program, on the GPU if there is one
	@test -x $(DEMO)/venv/bin/python || $(PYTHON) -m venv $(DEMO)/venv
	@echo "building cuvet and installing it into $(DEMO)/venv: half a minute"
	@$(DEMO)/venv/bin/python -m pip install -qq --disable-pip-version-check .
	@sh examples/demo.sh $(DEMO)

sanitized: $(INSTALLED) ## run the native tests over libraries built with ASan, UBSan and TSan (SANITIZER=thread: one)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/sanitized.py $(addprefix --sanitizer=,$(SANITIZER))

# Each worker begins with half of the tests, in order, so that what the tests of a file share is made once; in the end it takes over some of
# the other's, so that no file runs alone.
test: setup ## run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

mutants: $(INSTALLED) ## break the code below PLACE in COUNT small ways, drawn by SEED, and show those that no test notices
	$(BIN)/python tools/mutants.py $(PLACE) --count $(COUNT) --seed $(SEED)

lint: $(INSTALLED) ## ruff, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$($(NATIVE_SOURCES))

format: $(INSTALLED) ## rewrite the sources in the house style
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/clang-format -i $$($(NATIVE_SOURCES))

types: $(INSTALLED) ## mypy --strict
	$(BIN)/mypy

generate: $(INSTALLED) ## rewrite every generated file
	$(BIN)/python tools/generate_catalog.py
	$(BIN)/python tools/generate_returns.py
	$(BIN)/python tools/generate_libraries.py
	$(BIN)/python tools/generate_types.py
	$(BIN)/python tools/generate_native.py
	$(BIN)/python tools/generate_emulated_libraries.py
	$(BIN)/python tools/generate_cudart.py
	$(BIN)/python tools/generate_errors.py
	$(BIN)/python tools/generate_schema.py
	$(BIN)/python tools/generate_compatibility.py
	$(BIN)/python tools/generate_docs.py
	$(BIN)/python -m cuvet.man man
	$(BIN)/python tools/fit_explain.py
	$(BIN)/python tools/generate_causes.py
	$(BIN)/python tools/conformance_page.py
	$(BIN)/python tools/cost_page.py
	$(BIN)/python tools/source_snapshot.py
	$(BIN)/python -m tests.rules.reports
	$(BIN)/python -m tests.rules.states
	$(BIN)/python -m tests.model.situations
	$(BIN)/python -m tests.model.effects
	$(BIN)/python -m tests.model.kinds_of_calls

docs: $(INSTALLED) ## rewrite the pages of the rules and the causes
	$(BIN)/python tools/generate_docs.py
	$(BIN)/python tools/generate_causes.py

site: $(INSTALLED) ## the documentation as a site that needs no network: in build/site
	$(BIN)/python tools/build_site.py build/site

man: $(INSTALLED) ## rewrite the manual pages of all commands
	$(BIN)/python -m cuvet.man man

wheel: $(INSTALLED) ## sdist, the wheel built from it, its manylinux tag: in dist/
	$(BIN)/python tools/build_wheel.py dist

bench: setup ## what cuvet costs here: all rows, or ONLY=emulated and the like (python bench/bench.py --list); LONG=1: also the long ones
	@CORPUS=$(CORPUS) $(BIN)/python bench/bench.py --only '$(ONLY)' $(if $(LONG),--long --minutes 60)
	@$(BIN)/python tools/cost_page.py

hardware: setup ## run every known program and image on this machine's GPUs; writes docs/hardware.md
	$(BIN)/python tests/hardware/run.py
	$(BIN)/python tests/hardware/images.py
	$(BIN)/python tests/image/built/build.py --output build/images
	$(BIN)/python tests/hardware/inspect_cuobjdump.py build/images
	PYTHON=$(BIN)/python sh tests/hardware/doctor.sh

clean: ## remove what was built, but not .venv
	rm -rf build dist src/cuvet/_native
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf
