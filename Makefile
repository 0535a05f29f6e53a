# Everything goes through here; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO := build/demo
NATIVE_SOURCES = git ls-files --cached --others --exclude-standard 'native/*.cpp' 'native/*.h' 'examples/*.cpp'

.DEFAULT_GOAL := help
.PHONY: help setup native demo test lint format types generate docs wheel bench hardware clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) native ## make .venv with everything that development needs

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

native: $(INSTALLED) ## build the shim and the emulated device's libraries into src/cuvet/_native
	@test -f build/native/build.ninja || PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/native -G Ninja -Wno-dev
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/native

demo: ## install the package and diagnose an example program, on the GPU if there is one
	@test -x $(DEMO)/venv/bin/python || $(PYTHON) -m venv $(DEMO)/venv
	@echo "installing cuvet into $(DEMO)/venv"
	@$(DEMO)/venv/bin/python -m pip install --quiet --disable-pip-version-check .
	@sh examples/demo.sh $(DEMO)

test: setup ## run the tests
	$(BIN)/python -m pytest -n 2 -m 'not hardware'

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
	$(BIN)/python tools/generate_native.py
	$(BIN)/python tools/generate_cudart.py
	$(BIN)/python tools/generate_schema.py
	$(BIN)/python tools/generate_docs.py

docs: $(INSTALLED) ## rewrite the pages of the rules
	$(BIN)/python tools/generate_docs.py

wheel: $(INSTALLED) ## sdist, the wheel built from it, its manylinux tag: in dist/
	$(BIN)/python tools/build_wheel.py dist

bench: setup ## what a call costs with and without cuvet (needs a GPU)
	$(BIN)/python bench/bench.py

hardware: setup ## run every known program on this machine's GPUs; writes docs/hardware.md
	$(BIN)/python tests/hardware/run.py

clean: ## remove what was built, but not .venv
	rm -rf build dist src/cuvet/_native
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf
