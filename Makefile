# The project's commands. `make results` and `make test` install what they need first.
PYTHON ?= python3
SHELL := /bin/bash
CORES ?= all
KEEP ?= --constraint requirements.lock
# tests/conftest.py says how many processes, and what starts first.
PYTEST := python -m pytest --numprocesses auto --dist loadgroup --no-loadscope-reorder
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# The overlay config/x.yaml has its results in runs/x/results, CONFIG="config/x.yaml config/y.yaml" in
# runs/x-y/results; without one they lie in results.
RUN = $(if $(CONFIG),runs/$(subst $() $(),-,$(strip $(basename $(notdir $(CONFIG))))),.)
# PORTABLE=1: the same bytes on any x86-64 processor with AVX2, docs/bytes.md.
SNAKEMAKE = snakemake --logger onelayer --directory $(strip $(RUN) $(if $(CONFIG),--configfile $(CONFIG)) \
  $(if $(PORTABLE),--config portable=true))
CHECK_CONFIG = for file in $(CONFIG); do test -f "$$file" || \
  { echo "CONFIG=$$file: there is no such file" >&2; exit 2; }; done

.DEFAULT_GOAL := help
.PHONY: help install quick results report crate verify compare same-bytes reference test test-fast test-slurm mutate kill-matrix lint audit format docs bench bench-scale schema lock clean test-faults bench-gpu

help: ## this list; `onelayer targets` lists every table and figure
	@echo 'Results (CONFIG=config/x.yaml: settings over config.yaml, in runs/x; CORES=2; PORTABLE=1):'
	@grep -hE '^[a-z-]+:.*[^#]## ' $(MAKEFILE_LIST) | sed -E 's/:.*[^#]## /\t/' | expand -t 14
	@echo 'To work on the code:'
	@grep -hE '^[a-z-]+:.*### ' $(MAKEFILE_LIST) | sed -E 's/:.*### /\t/' | expand -t 14

install: .venv/.installed ## build .venv from requirements.lock

# Two pips at once and a compiler for each core, because pip uses one. The lock has every version, so that nothing is
# resolved. Left uncompiled are tests of libraries and models of transformers that nothing here imports; of files that
# are no Python of this version pip is silent, too.
.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	  f"Python {v.major}.{v.minor} is too old: 3.11 or newer is needed; name one: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	printf '0\n1\n' | xargs -P 2 -n 1 sh -c 'awk -v half="$$0" "NR % 2 == half && !/^#/" requirements.lock | \
	  xargs .venv/bin/python -m pip install --no-compile --no-deps --quiet --disable-pip-version-check'
	.venv/bin/python -m compileall -qq -j 0 \
	  -x '/tests?/|/transformers/models/(?!_|auto|albert|bart|bert|electra|mpnet|roberta)' .venv/lib || true
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

quick: CONFIG ?= config/quick.yaml
quick: install ## MiniLM compared with random weights: two tables and a figure, in runs/quick/results
	@$(CHECK_CONFIG)
	$(SNAKEMAKE) --cores $(CORES) -- table_wikipedia_disjoint table_wikipedia_overlapping \
	  figure_wikipedia_ratios
	@onelayer outcome $(RUN)/results

results: install ## run everything: tables, figures, results/index.md; CONFIG=config/x.yaml: in runs/x
	@$(CHECK_CONFIG)
	$(SNAKEMAKE) --cores $(CORES)
	@onelayer outcome $(RUN)/results $(if $(CONFIG),,--compared)

report: results ## one self-contained HTML with all tables and figures: results/report.html
	$(SNAKEMAKE) --cores $(CORES) --report results/report.html --report-stylesheet $(CURDIR)/workflow/report/report.css

crate: install ## one zip of the run to hand on, a Workflow Run RO-Crate: results.crate.zip
	@$(CHECK_CONFIG)
	@onelayer pack $(RUN)/results

verify: install ## compare every file in results/ with the record of the step that made it
	@$(CHECK_CONFIG)
	onelayer verify $(RUN)/results

compare: install ## compare your tables with the reference run, docs/reference; VERBOSE=1: all changes
	@$(CHECK_CONFIG)
	@onelayer compare $(RUN)/results $(if $(VERBOSE),--verbose)

same-bytes: install ## are a small portable run's bytes those of docs/reference/sums.json? KEEP_SUMS=1 keeps them
	snakemake --logger onelayer --directory runs/same-bytes --cores $(CORES) \
	  --configfile config/smoke.yaml config/same-bytes.yaml -- same_bytes
	@onelayer same-bytes runs/same-bytes/results $(if $(KEEP_SUMS),--keep)

reference: CONFIG = config/mpnet.yaml config/reference.yaml
reference: RUN = runs/reference
reference: PORTABLE = 1
reference: results ### make the reference run and keep it, with its machine, in docs/reference
	onelayer reference --keep $(RUN)/results

test: install ### the whole test suite: minutes
	$(PYTEST)

test-fast: install ### unit and oracle tests: a minute
	$(PYTEST) tests/unit tests/oracle -m "not workflow"

test-faults: install ### kill runs, steps and trainings at random moments; count what is survived: minutes
	python -m pytest tests/faults -m faults --capture=no

test-slurm: install ### on a Slurm of its own, minutes; as root, with: apt-get install munge slurmctld slurmd slurm-client
	python -m pytest tests/cluster -m slurm

mutate: install ### do the tests notice faults? hundreds of slips, one at a time; ARGS="intervals step.py"
	python -m tests.mutations $(ARGS)

kill-matrix: install ### who notices slips of the modules that judge, and who could go; build/kill-matrix.csv
	python -m tests.mutations.matrix $(ARGS)

lint: install ### ruff, snakefmt, snakemake --lint, drift of the schema
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	snakemake --lint
	onelayer schema --check

audit: ### known vulnerabilities of the versions in requirements.lock, by pip-audit; needs a network
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	.venv-lock/bin/pip-audit --requirement requirements.lock --no-deps --disable-pip
	rm -rf .venv-lock

format: install ### format Python and Snakemake files
	ruff check --fix .
	ruff format .
	snakefmt Snakefile workflow

docs: install ### the site of the documentation, with the figures of the run: site/index.html
	@$(CHECK_CONFIG)
	@NO_MKDOCS_2_WARNING=1 RESULTS=$(RUN)/results mkdocs build --strict

bench: install ### speed compared with a good user's code, the authors' way and a floor, in one run
	python -m bench

bench-gpu: install ### every training, sweep and probe on the CPU and a GPU: seconds, limits, agreement; ARGS="--default"
	@python -m bench.gpu $(ARGS)

bench-scale: install ### time and memory of corpora in parts, 10 to 80 thousand documents: results/scale/
	python -m bench.scale

schema: install ### write workflow/schemas/config.schema.json from the typed settings
	onelayer schema

lock: ### pyproject.toml -> requirements.lock, envs/onelayer.yaml; upgrades nothing; all: make lock KEEP=
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[pipeline,cluster,dev,docs]' $(KEEP)
	( echo '# Every package that the project needs, by version; `make lock` writes it.'; \
	  .venv-lock/bin/python -m pip freeze --all --exclude-editable --exclude wheel \
	  | sed -E 's/\+[a-z0-9.]+$$//; /^(nvidia|cuda|triton)/d' ) > requirements.lock
	( echo '# For `snakemake --sdm conda`; written by `make lock`, the same pins as requirements.lock.'; \
	  printf 'name: onelayer\nchannels:\n  - conda-forge\ndependencies:\n'; \
	  printf '  - python=3.11\n  - pip\n  - pip:\n'; \
	  sed -n 's/^[^#].*/      - &/p' requirements.lock ) > envs/onelayer.yaml
	rm -rf .venv-lock

clean: ## remove the environment; results stay
	rm -rf .venv
