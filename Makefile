# Needs Python 3.11 or newer, pip and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# LOCK=1 installs the versions of requirements-dev.lock in place of the newest ones.
LOCK ?=
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet \
	$(if $(LOCK),--constraint requirements-dev.lock)

.PHONY: browser dbt demo extension facts help lock outputs test test-extension test-rest test-wide test-install lint docs \
	playground bench clean

demo: $(VENV)/core.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

# The commands, as CONTRIBUTING.md has them: its first block.
help:
	@awk '/^```/ {block++; next} block == 1' CONTRIBUTING.md

# SEED=7 draws other examples, and other wide tests, than SEED=0, the default: see tests/support/tiers.py.
SEED ?=
DRAW := $(if $(SEED),--hypothesis-seed=$(SEED))
# What the gate allows the tests to cost: see tests/support/budget.py.
MOST_PLANS ?=

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --tier=quick $(DRAW) \
		$(if $(MOST_PLANS),--most-plans=$(MOST_PLANS))

# Workers of tests that wait, for servers and other processes: one more than there are cores.
WAITING = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

# What .ci/run runs after `make test`: the fast tests that it leaves out, and the share of the wide ones that the
# seed draws, with dbt, and with Postgres and Spark where they are.
test-rest: $(VENV)/wide.stamp
	$(BIN)/python -m pytest --numprocesses=$(WAITING) --dist=worksteal --tier=rest -m "not slow" $(DRAW)

# All wide tests, at any time.
test-wide: $(VENV)/wide.stamp
	$(BIN)/python -m pytest --numprocesses=auto -m wide

# The wheel and the sdist, built and installed in fresh environments; the install lines of the pages in a fresh clone;
# and the answers of other versions of the engines.
# A module stays on one worker: its tests share packages and environments, which take seconds to make.
test-install: $(VENV)/dev.stamp
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile -m slow tests/test_versions.py tests/test_install.py \
		tests/test_install_lines.py tests/macros/test_database.py

# The browser of the tests of HTML pages, on Debian and where that is allowed.
browser:
	command -v chromium >/dev/null || (apt-get update && apt-get install --yes --no-install-recommends chromium) >/dev/null

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*_*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --quiet --offline .github

# What is written from the docstrings of the metrics and the catalogue: comments of macros, tables, pages.
facts: $(VENV)/dev.stamp
	$(BIN)/python -m tools.facts
	$(BIN)/python -m tools.address

# What the queries and calls of the pages print, below them.
outputs: $(VENV)/dev.stamp
	$(BIN)/python -m tools.page_outputs

# The queries of the dbt package, written from to_sql for each adapter: some minutes, or with TABLE=external_report, for
# example, less than one.
TABLE ?=
dbt: $(VENV)/dev.stamp
	$(BIN)/python -m tools.dbt_package $(TABLE)

# The site of the documentation, in site/; a broken link or a page outside of the navigation is an error.
docs: $(VENV)/docs.stamp
	$(BIN)/zensical build --strict --clean
	$(BIN)/python -m tools.llms site

# The site with the playground, whose pages run the macros in the browser; needs npm.
playground: docs playground/node_modules/.stamp
	node playground/build.mjs site/playground
	$(BIN)/python -m tools.playground site

playground/node_modules/.stamp: playground/package.json playground/package-lock.json playground/.npmrc
	cd playground && npm ci --silent
	touch $@

# The DuckDB extension, with the C compiler: build/extension/clustereval.duckdb_extension.
extension: $(VENV)/dev.stamp
	$(BIN)/python -m tools.extension

# The extension on each DuckDB version that it is meant for.
test-extension: $(VENV)/dev.stamp
	$(BIN)/python -m pytest --numprocesses=auto -m "" tests/test_extension.py

# The versions that are installed now become those of LOCK=1, on every system and for Python 3.11.5 and newer.
lock: $(VENV)/wide.stamp
	$(INSTALL) uv
	mkdir -p build && $(BIN)/python -m pip freeze --exclude-editable > build/installed.txt
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra dbt --extra docs --universal --python-version 3.11.5 \
		--constraint build/installed.txt --no-annotate --no-header --no-emit-index-url --quiet --output-file $@.new
	printf '# Written by `make lock`.\n' | cat - $@.new > requirements-dev.lock
	rm $@.new

# The times of all groups, or with OPTIONS='--only report --rows 100_000', for example, of one.
OPTIONS =
bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(OPTIONS)

clean:
	rm -rf $(VENV) build dist site playground/node_modules .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# With pip, for those who activate the environment and install an extra. It comes from pip of the outside, since some
# distributions take ensurepip out of Python; and where the outside has no pip, from ensurepip.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet pip 2>/dev/null || $(BIN)/python -m ensurepip --default-pip

$(VENV)/core.stamp: pyproject.toml | $(BIN)/pip
	$(INSTALL) --editable .
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/pip
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/core.stamp

$(VENV)/docs.stamp: pyproject.toml | $(BIN)/pip
	$(INSTALL) --editable '.[docs]'
	touch $@ $(VENV)/core.stamp

# PySpark is half a gigabyte, and of no use without Java.
$(VENV)/wide.stamp: $(VENV)/dev.stamp
	$(INSTALL) --editable '.[dev,dbt,docs]'
	! command -v java >/dev/null || $(INSTALL) --editable '.[wide]'
	touch $@
