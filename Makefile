# The project's commands. `make results` and `make test` install what they need first.
PYTHON ?= python3
SHELL := /bin/bash
CORES ?= all
.SHELLFLAGS := -o pipefail -c
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# The overlay config/x.yaml has its results in runs/x/results, CONFIG="config/x.yaml config/y.yaml" in
# runs/x-y/results; without one they lie in results.
RUN = $(if $(CONFIG),runs/$(subst $() $(),-,$(strip $(basename $(notdir $(CONFIG))))),.)
# PORTABLE=1: the same bytes on any x86-64 processor with AVX2. Bars on a terminal, lines elsewhere.
SNAKEMAKE = snakemake $$(test -t 1 && echo --logger rich) --directory $(RUN) --cores $(CORES) \
  $(if $(CONFIG),--configfile $(CONFIG)) $(if $(filter 1 true,$(PORTABLE)),--config portable=true)
CHECK_CONFIG = for file in $(CONFIG); do test -f "$$file" || \
  { echo "CONFIG=$$file: there is no such file" >&2; exit 2; }; done
PYTEST = python -m pytest --numprocesses auto --dist loadgroup --durations 15 --durations-min 10

.DEFAULT_GOAL := help
.PHONY: help install quick results report crate compare same-bytes reference test test-fast test-install mutation \
  lint format lock audit docs bench clean

help: ## this list
	@echo 'Results (CONFIG=config/x.yaml: settings over config.yaml, in runs/x; CORES=2; PORTABLE=1):'
	@grep -hE '^[a-z-]+:.*[^#]## ' $(MAKEFILE_LIST) | sed -E 's/:.*[^#]## /\t/' | expand -t 14
	@echo 'To work on the code:'
	@grep -hE '^[a-z-]+:.*### ' $(MAKEFILE_LIST) | sed -E 's/:.*### /\t/' | expand -t 14

install: .venv/.installed ## build .venv; TORCH_INDEX=...: from an index with PyTorch's CPU builds

# The file .installed comes last, so that half an environment never passes for a whole one.
.venv/.installed: requirements.lock pyproject.toml
	@PATH="$${PATH#*/.venv/bin:}" envs/install.sh $(PYTHON) $(TORCH_INDEX)
	@touch $@

quick: CONFIG ?= config/quick.yaml
quick: install ## MiniLM beside random weights: two tables and a figure, in runs/quick/results
	@$(CHECK_CONFIG)
	$(SNAKEMAKE) -- quick
	@sed -n '/^|/p' $(RUN)/results/tables/topic_structure/wikipedia_disjoint.md | cut -d'|' -f1-6 | head -12

results: install ## run everything: tables, figures, results/index.md
	@$(CHECK_CONFIG)
	$(SNAKEMAKE)
	@cat $(RUN)/results/summary.txt

report: results ## one self-contained HTML with all figures: results/report.html
	$(SNAKEMAKE) --report results/report.html

crate: install ## one zip of the run to hand on, a Workflow Run RO-Crate: results.crate.zip
	@onelayer crate $(RUN)/results

compare: install ## compare your tables with the reference run, docs/reference
	@onelayer compare $(RUN)/results

same-bytes: install ## are a small portable run's weights and tables those of tests/golden/SHA256SUMS?
	snakemake --directory runs/same-bytes --cores $(CORES) --configfile config/golden.yaml \
	  --config portable=true -- sums
	@cd runs/same-bytes && sha256sum --check --quiet ../../tests/golden/SHA256SUMS && echo 'the same bytes'

reference: CONFIG = config/reference.yaml
reference: PORTABLE = 1
reference: results ### make the reference run and keep its tables and figures in docs/reference
	rm -rf docs/reference/tables docs/reference/figures
	cp -r $(RUN)/results/tables $(RUN)/results/SHA256SUMS $(RUN)/results/findings.md docs/reference
	find docs/reference/tables -name "*.tex" -delete
	cd $(RUN)/results && find figures -name '*.png' -exec cp --parents -t "$(CURDIR)/docs/reference" {} +
	git checkout -- docs/reference/tables/scan_snap/text_wikitext.csv docs/reference/tables/scan_snap/text_wikitext.md

test: install ### the whole test suite
	$(PYTEST)

test-fast: install ### unit and oracle tests
	$(PYTEST) tests/unit tests/oracle

mutation: install ### how many mutants of verdicts, intervals, probe statistics, flows survive the tests; hours
	tests/mutation.sh $(MODULES)

test-install: ### fresh environments from the public index alone, for every Python from 3.11 on; gigabytes
	tests/install.sh $(PYTHONS)

lint: install ### ruff, snakefmt, snakemake --lint, vulture
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	snakemake --lint
	vulture

format: install ### format Python and Snakemake files
	ruff check --fix .
	ruff format .
	snakefmt Snakefile workflow

audit: ### known vulnerabilities of the versions in requirements.lock, by pip-audit; needs a network
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	.venv-lock/bin/pip-audit --requirement requirements.lock --no-deps --disable-pip
	rm -rf .venv-lock

docs: install ### the site of the documentation: site/index.html
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict

bench: install ### speed beside the authors' way, the obvious code and a floor, in one run
	python -m bench

# KEEP= upgrades everything. What torch alone brings along (CUDA, Triton) is left to the torch that pip
# chooses: a CPU build has none of it.
KEEP ?= --constraint requirements.lock
lock: ### pyproject.toml -> requirements.lock, envs/onelayer.yaml; upgrades nothing; all: make lock KEEP=
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[pipeline,cluster,dev,docs]' $(KEEP)
	( echo '# Versions of everything that the project needs, as constraints for pip; `make lock` writes it.'; \
	  .venv-lock/bin/python -m pip freeze --all --exclude-editable --exclude wheel \
	  | sed -E 's/\+[a-z0-9.]+$$//; /^(nvidia|cuda|triton)/d' ) > .venv-lock/lock
	mv .venv-lock/lock requirements.lock
	( echo '# For `snakemake --sdm conda`; written by `make lock`, the same versions as requirements.lock.'; \
	  printf 'name: onelayer\nchannels:\n  - conda-forge\ndependencies:\n'; \
	  printf '  - python=3.11\n  - pip\n  - pip:\n'; \
	  sed -n 's/^[^#].*/      - &/p' requirements.lock ) > envs/onelayer.yaml
	rm -rf .venv-lock

clean: ## remove the environment; results stay
	rm -rf .venv
