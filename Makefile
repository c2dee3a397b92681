# The everyday commands. `make` alone lists them.

# Where the test tools live; cargo clean takes them along, make test-tools brings them back.
TOOLS := target/tools

# nextest runs a process per test and in parallel; plain cargo test does as well, only slower.
RUN_TESTS = $(shell cargo nextest --version >/dev/null 2>&1 \
	&& echo "cargo nextest run --profile default" || echo "cargo test --lib --bins --tests --examples")

.PHONY: help run test deps lint docs fmt observer test-reader test-tools

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

run: ## serve the demo on http://localhost:8000 (fetches the stock page once)
	@$(MAKE) --no-print-directory observer || echo "the observer page could not be built: served without it"
	@[ -e .rejoinder/frontend ] || cargo run -- frontend fetch
	cargo run -- serve

test: ## run every test, against SQLite and a throwaway PostgreSQL, with real clients and a browser
	@tests/env/check
	@if [ "$$CI" = true ]; then $(MAKE) --no-print-directory test-tools; \
	else $(MAKE) --no-print-directory -k test-tools || echo "not every test tool could be installed: tests that need one are skipped"; fi
	cargo build --bins --examples
	tests/env/with-postgres $(RUN_TESTS)
	cargo test --doc
	@$(MAKE) --no-print-directory test-reader

deps: ## install the system packages that tests need and that are missing (apt)
	@tests/env/install-packages

lint: ## what CI holds against every change: format, clippy, doc links, dependencies
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps
	@tests/env/check-dependencies

docs: ## build the documentation of the library
	cargo doc --no-deps

fmt: ## format the code
	cargo fmt

# ---- the reader and the page that is made of it -------------------------------------------------------------------

OBSERVER := client/observer/dist/index.html

observer: ## build the page that shows a thread live (client/observer), where npm is
	@if command -v npm >/dev/null; then $(MAKE) -s --no-print-directory $(OBSERVER); fi

test-reader: ## run the tests of the reader (client), where npm is
	@if command -v npm >/dev/null; then $(MAKE) -s --no-print-directory client/node_modules/.package-lock.json && cd client && npm test --silent; \
	else echo "SKIPPED: npm is missing (make deps)"; fi

$(OBSERVER): client/node_modules/.package-lock.json client/package.json client/tsconfig.json $(wildcard client/src/* client/observer/*.* client/observer/src/*)
	cd client && npm run build --silent -- --logLevel warn
	@touch $@

client/node_modules/.package-lock.json: client/package-lock.json
	cd client && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# ---- test tools: real clients and the real Chainlit, pinned -------------------------------------------------------

test-tools: tests/js/node_modules/.package-lock.json observer $(TOOLS)/venv/.done $(TOOLS)/chainlit/.done $(TOOLS)/page ## install the clients that tests drive

# npm writes this file itself as its last act, so it is the stamp.
tests/js/node_modules/.package-lock.json: tests/js/package-lock.json
	cd tests/js && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(TOOLS)/venv/.done: tests/py/requirements.txt
	@rm -rf $(@D) && python3 -m venv $(@D)
	$(@D)/bin/pip install -q -r tests/py/requirements.txt
	@touch $@

$(TOOLS)/chainlit/.done: tests/chainlit/requirements.txt tests/chainlit/constraints.txt
	@rm -rf $(@D) && python3 -m venv $(@D)
	$(@D)/bin/pip install -q -r tests/chainlit/requirements.txt -c tests/chainlit/constraints.txt
	@touch $@

# The stock page as the wheel has it: frontend/dist, copilot/dist, translations.
$(TOOLS)/page: $(TOOLS)/chainlit/.done
	@ln -sfn "$$(cd $(TOOLS)/chainlit/lib/python3*/site-packages/chainlit && pwd)" $@ && touch -h $@
