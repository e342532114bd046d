# Two commands on a fresh machine, in any order: `make demo`, `make test`. Needs Python 3.11-3.13 with pip, and make;
# uv is brought along. `make demo` installs without the tools of development: half the size.
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-long check docs bench bench-crawl bench-relevance clean ssrf torture guards torture-kill torture-api conformance chart screenshots year release containers failover chaos

PYTHON ?= python3
PORT   ?= 8000
# More than two cores have, because tests wait for processes and servers; each further one collects all tests once more.
WORKERS ?= 4
UV_VERSION := 0.13.8

# A uv found on PATH may be older than the lock file's format: only the pinned one is trusted.
UV := .tools/bin/uv
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy
# Six seconds once; every command then starts in half the time, also where Python may not write beside its sources.
export UV_COMPILE_BYTECODE := 1
# Without byte code every process that a test starts would compile the whole tree again.
unexport PYTHONDONTWRITEBYTECODE
# Authorities of this machine's own (a company's proxy) count where there are any; bare containers have none.
ifneq (,$(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem))
export UV_SYSTEM_CERTS := true
endif

help:            ## what can be made
	@grep -E '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

demo: .venv/.demo        ## crawl the sample web over TLS, search it, serve pages, API and MCP (PORT=8000)
	.venv/bin/waypost demo --port $(PORT)

PYTEST := .venv/bin/python -m pytest --dist loadfile --no-loadscope-reorder -rs

test: .venv/.done        ## everything that a change must pass (WORKERS=4)
	$(PYTEST) -n $(WORKERS) -m "not long"

test-fast: .venv/.done   ## without those that use a database or need seconds: two minutes on two cores
	$(PYTEST) -n auto -m "not slow and not database and not long"

test-long: .venv/.done   ## floods, kills, torture, whole sweeps and all guards, each with a time limit of its own (hours)
	.ci/long

torture: .venv/.done     ## hostile servers, one by one and two hundred at once: outcomes, memory, honest hosts beside them
	.venv/bin/python -m tests.crawler.torture

guards: .venv/.done      ## each guard switched off in a copy of the tree: its tests must turn red (hours)
	.venv/bin/python -m tests.guards

ssrf: .venv/.done        ## every spelling of every refused address by every way in, in a network namespace (minutes)
	.venv/bin/python -m tests.crawler.ssrf

torture-kill: .venv/.done ## fifty kills at random moments of a registry at work (KILLS="--kills 50 --seed 1"; half an hour)
	.venv/bin/python -m tests.flow.kills $(KILLS)

torture-api: .venv/.done ## all attacks on the API at once beside honest clients, in a network namespace (TORTURE="--seconds 60"; 12 minutes)
	.venv/bin/python -m tests.flow.torture_api $(TORTURE)

year: .venv/.done        ## a year of a registry on a simulated clock: a million visits, everything stays flat and agrees (YEAR="--domains 4000"; hours)
	.venv/bin/python -m tests.flow.year $(YEAR)

containers: .venv/.done  ## docker-compose.yml in an engine of its own: up, crawl, upgrade, scale, kill, restore (Docker, podman; minutes)
	$(PYTEST) -n 0 -x -s -v tests/containers

failover: .venv/.done    ## the primary of a working registry killed, frozen, cut off, its standby promoted (root, PostgreSQL; 10 minutes)
	.venv/bin/python -m pytest -n0 -rs -s tests/chaos/test_failover.py

chaos: .venv/.done       ## frozen workers, wrong clocks, no DNS, a slow database (root, PostgreSQL, faketime; 15 minutes)
	.venv/bin/python -m pytest -n0 -rs -s tests/chaos/test_chaos.py

conformance: .venv/.done ## independent verifiers of every interface; installs them into .tools (CONFORMANCE="mcp --all")
	.venv/bin/python -m tests.conformance $(CONFORMANCE)

chart: .venv/.done       ## the Helm chart by helm and a real API server, alerts and dashboard by Prometheus; builds the tools once (an hour)
	.venv/bin/python -m tests.chart

check: .venv/.done       ## linters, types, import contracts
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

docs: .venv/.done        ## write the generated pages anew
	.venv/bin/python -m docs.generate

bench: .venv/.done | $(UV) ## all benchmarks, compared with the best ratios so far (BENCH="documents page": parts of names)
	$(UV) sync --frozen -q --group bench
	.venv/bin/python -m benchmarks $(BENCH)

bench-crawl: .venv/.done | $(UV) ## the crawler beside aiohttp, Scrapy and itself (BENCH="--list polite"; Linux, nginx)
	$(UV) sync --frozen -q --group bench
	.venv/bin/python -m benchmarks.crawl $(BENCH)

bench-relevance: .venv/.done ## does search put the right service first (RELEVANCE="--data DIR --json", "--parts")
	.venv/bin/python -m benchmarks.relevance $(RELEVANCE)

release: .venv/.done | $(UV) ## wheel, sdist, SBOM, licences, notes and checksums of this commit, in dist/VERSION
	.venv/bin/python .ci/release.py

screenshots: .venv/.done ## pictures of all web pages, in two themes and two widths (SCREENSHOTS=folder; Chromium)
	WAYPOST_SCREENSHOTS=$(or $(SCREENSHOTS),screenshots) .venv/bin/python -m pytest tests/web/test_screenshots.py -rs

clean:           ## forget the environment
	rm -rf .venv .tools

.tools/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "waypost needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || \
	  { echo "$(PYTHON) has no pip (Debian: apt-get install python3-pip). With uv: uvx --from . waypost demo"; exit 1; }
	$(PYTHON) -m pip install -q --disable-pip-version-check --root-user-action=ignore --target .tools uv==$(UV_VERSION)

# Inexact: what `make test` has installed stays.
.venv/.demo: pyproject.toml uv.lock | $(UV)
	@echo "Installing waypost into .venv: 0.5 GB, once, a minute or less"
	$(UV) sync --frozen --no-dev --inexact --python $(PYTHON)
	@touch $@

.venv/.done: pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen -q --python $(PYTHON)
	@touch $@
	@echo "the command is $(CURDIR)/.venv/bin/waypost"
