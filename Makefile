# The two to begin with are `make demo` and `make test`; each does all of its set-up.

CARGO ?= cargo
# Debian's packages that the tests against a real containerd need.
PACKAGES := runc busybox-static

# How long `make soak` fuzzes each target, in seconds.
FUZZ_SECONDS := 60

.PHONY: help demo test bench soak lint packages

help: ## Say what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

demo: ## See the real host with real components come through a restart of the runtime
	@$(CARGO) run --quiet --package nri-host-tests --bin demo

test: packages ## Run all tests, against real containerds too where this machine allows it
	$(CARGO) test --workspace

bench: ## Measure calls, memory and reconnecting beside the smallest plugins there are
	$(CARGO) build --release --package nri-host-tests --bin floor --bin bench
	$(CARGO) run --release --package nri-host-tests --bin bench

soak: packages ## Run what takes long: every supported release of containerd, 1,000 restarts, fuzzing
	$(CARGO) test --release --package nri-host-tests -- --ignored --nocapture --test-threads=1
	tests/scripts/fuzz $(FUZZ_SECONDS)

lint: ## Check formatting, lints, documentation, the systemd unit, and the tests that documents name
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --workspace --no-deps --document-private-items
	tests/scripts/verify-unit systemd/nri-host.service
	tests/scripts/verify-field-reports

packages:
	@tests/scripts/install-packages $(PACKAGES)
