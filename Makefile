# Two commands matter: `make demo` and `make test`. Each sets up what it needs, once.
SHELL := bash
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
UV := .tools/bin/uv
EASYOCR := .venv-easyocr

.PHONY: help demo test easyocr lint types contracts check bench mutation rendered screens docs lock clean

help:  ## Show the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.runtime  ## Play the main job on real screens (under a minute)
	@$(BIN)/otel-validation demo

test: $(VENV)/.dev  ## Run the tests with branch coverage
	@$(BIN)/python -m pytest --cov --cov-report=term $(ARGS)

easyocr: $(EASYOCR)/.done  ## Run the OCR engines' suite on EasyOCR, and what else needs torch (5 GB), in an environment of their own
	@$(EASYOCR)/bin/python -m pytest tests/contract/test_ocr_engines.py tests/unit/vision/test_encoder_torchscript.py --engine easyocr $(ARGS)

lint: $(VENV)/.dev  ## Format check, lint, spelling
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/codespell

types: $(VENV)/.dev  ## Strict types
	@$(BIN)/mypy

contracts: $(VENV)/.dev  ## Layers point down only
	@$(BIN)/lint-imports

check: lint types contracts test  ## All of the above

bench: $(VENV)/.dev  ## Measure; prints ratios within one run (ARGS=--short for a quick one)
	@$(BIN)/python -m benchmarks $(ARGS)

mutation: $(VENV)/.dev  ## Make right steps wrong in known ways and see which are told; fails under the floors
	@$(BIN)/python -m benchmarks.mutation $(ARGS)

rendered: $(VENV)/.dev  ## Render labelled screens into build/rendered and score them (needs browsers and Xvfb; 40 minutes)
	@$(BIN)/python -m benchmarks.rendered $(ARGS) && $(BIN)/python -m benchmarks.accuracy build/rendered/tune build/rendered/report

screens: $(VENV)/.dev  ## Render the demo's screenshots again (needs chromium and Xvfb)
	@$(BIN)/python scripts/render_screens.py

docs: $(VENV)/.dev  ## Write the generated tables and build the documentation (build/site)
	@$(BIN)/python scripts/semconv_table.py && $(BIN)/python scripts/settings_table.py
	@$(BIN)/mkdocs build --strict --quiet

lock: $(UV)  ## Resolve the pinned requirements again
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade \
	  pyproject.toml -o requirements/runtime.txt
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade \
	  pyproject.toml --extra rapidocr --extra tesseract --group dev -c requirements/runtime.txt -o requirements/dev.txt
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade \
	  pyproject.toml --extra rapidocr --extra tesseract --extra easyocr --group easyocr -c requirements/dev.txt \
	  --override requirements/without-gpu.in -o requirements/easyocr.txt

$(UV):
	@bash scripts/bootstrap_uv.sh $@

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(UV)
	@test -x $(BIN)/python || $(UV) venv --quiet --python "$$(command -v python3)" $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/runtime.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime | $(UV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

$(EASYOCR)/.done: requirements/easyocr.txt pyproject.toml | $(UV)
	@test -x $(EASYOCR)/bin/python || $(UV) venv --quiet --python "$$(command -v python3)" $(EASYOCR)
	@$(UV) pip install --quiet --python $(EASYOCR)/bin/python --no-deps --require-hashes -r requirements/easyocr.txt
	@$(UV) pip install --quiet --python $(EASYOCR)/bin/python --no-deps -e .
	@touch $@

clean:  ## Remove the environments and caches
	@rm -rf $(VENV) $(EASYOCR) .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
