# Each target sets up what it needs, so a fresh clone needs no other command. The set-up says nothing when all is there.
.DEFAULT_GOAL := help
.PHONY: help bootstrap demo test lint docs unit nightly bench lock clean

BIN := .venv/bin
export NO_MKDOCS_2_WARNING := 1
# Empty is as if unset: without bytecode every one of the tests' processes compiles all anew, half of their start.
export PYTHONDONTWRITEBYTECODE :=
# Three processes, one more than two cores: many tests only wait for a while.
BESIDE := -n 3 --dist worksteal
LEADER_KILLED := scenarios/leader-killed.yaml

help:
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

bootstrap: ## Python environment, Docker engine, images
	@scripts/bootstrap

demo: bootstrap ## kill the leader of a partition of a real cluster, and judge what happened
	@$(BIN)/chaoskafka run $(LEADER_KILLED) --runtime auto

test: bootstrap lint ## every test, those on real clusters too
	$(BIN)/python -m pytest -m "not docker" $(BESIDE)
	$(BIN)/python -m pytest -m docker  # one after the other: they share one engine and its machine

lint: bootstrap docs ## style, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: bootstrap ## the documentation as a site, in build/site
	$(BIN)/mkdocs build --quiet

unit: bootstrap ## the tests that need neither Docker nor processes of their own
	$(BIN)/python -m pytest -m "not docker and not slow" $(BESIDE)

nightly: bootstrap ## what is too long for every change: long tests, twenty times the properties' examples, all scenarios
	@docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || \
	  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends docker-compose
	CHAOSKAFKA_REQUIRE=docker $(BIN)/python -m pytest -m nightly
	POLARS_MAX_THREADS=$$(nproc) $(BIN)/python -m pytest -m "not docker" -n 2 --dist worksteal --hypothesis-profile=nightly
	$(BIN)/chaoskafka run scenarios/*.yaml scenarios/faults/*.yaml scenarios/combined/*.yaml  # a test plays the controls

bench: bootstrap ## every benchmark, and the figures in README.md and docs/benchmarks.md; `make bench-NAME`: one
	$(BIN)/python -m benchmarks

bench-%: bootstrap
	$(BIN)/python -m benchmarks.$*

lock: ## resolve the Python dependencies anew
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra dev \
	  --python-version 3.11 --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --constraint requirements.lock --output-file chaoskafka/images/recipes/client/requirements.lock \
	  chaoskafka/images/recipes/client/requirements.in

clean: ## remove the Python environment, caches of tools, and recorded runs
	rm -rf .venv runs .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build *.egg-info
