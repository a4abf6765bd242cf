# The two to begin with are `make demo` and `make test`; each does all of its set-up.

CARGO ?= cargo
# Debian's packages that tests need: those against a real containerd, those of the unit and the packages.
PACKAGES := runc busybox-static mmdebstrap systemd systemd-container

# How long `make soak` fuzzes each target, in seconds.
FUZZ_SECONDS := 60

# Where `make install` puts what `make build` has built, and below which folder.
PREFIX := /usr/local
DESTDIR :=
export PREFIX DESTDIR

.PHONY: help demo test build install uninstall deb bench soak lint packages

help: ## Say what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

demo: ## See the real host with real components come through a restart of the runtime
	@$(CARGO) run --quiet --package nri-host-tests --bin demo

test: packages ## Run all tests, against real containerds too where this machine allows it
	$(CARGO) test --workspace

build: ## Build what is installed: programs, components, manual pages, completions
	packaging/build release

install: ## Install it below PREFIX (/usr/local) in DESTDIR; what is in /etc/nri-host stays
	packaging/install

uninstall: ## Take it away again; what is in /etc/nri-host stays
	packaging/uninstall

deb: build ## Make the packages for Debian and Ubuntu, in target/debian
	packaging/debs target/debian

bench: ## Measure calls, memory and reconnecting beside the smallest plugins there are
	$(CARGO) build --release --package nri-host-tests --bin floor --bin bench
	$(CARGO) run --release --package nri-host-tests --bin bench

soak: packages ## Run what takes long: every supported release of containerd, 1,000 restarts, fuzzing
	$(CARGO) test --release --package nri-host-tests -- --ignored --nocapture --test-threads=1
	tests/scripts/fuzz $(FUZZ_SECONDS)

lint: ## Check formatting, lints, documentation, the systemd unit, and what documents name and link to
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --workspace --no-deps --document-private-items
	tests/scripts/verify-unit systemd/nri-host.service
	tests/scripts/verify-field-reports
	tests/scripts/verify-links

packages:
	@tests/scripts/install-packages $(PACKAGES)
