# What a person does with Stile's source. Each target sets the machine up first.

.DEFAULT_GOAL := help
.PHONY: help demo test check-api test-arm chaos bench setup build dist-gate fmt lint deny

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: ## show a day at two gates, network lost and found; KEEP=1 leaves it running
	@scripts/setup.sh demo
	@scripts/run.sh stile-demo $(if $(filter-out 0,$(KEEP)),--keep)

test: ## run all tests
	@scripts/setup.sh test
	@scripts/test.sh

check-api: ## send a server what docs/openapi.json allows and forbids, and check its answers
	@scripts/setup.sh test
	@scripts/schemathesis.sh

test-arm: ## run the tests of core and turnstile as 64-bit and 32-bit ARM, under qemu
	@scripts/setup.sh arm
	@scripts/test-arm.sh

chaos: ## kill gates and server a thousand times each, under load; KILLS=100 for fewer
	@scripts/setup.sh test
	@STILE_KILLS=$(or $(KILLS),1000) scripts/chaos.sh

bench: ## measure, and print each figure beside its limit
	@scripts/setup.sh build
	@scripts/run.sh stile-bench

setup: ## install what is missing on a Debian or Ubuntu machine
	@scripts/setup.sh

build: ## build the programs for release
	@scripts/setup.sh build
	@scripts/with-rust.sh cargo build --workspace --bins --release --locked

dist-gate: ## pack stile-gate for x86_64, aarch64 and armv7 boards, into target/dist/
	@scripts/setup.sh dist
	@scripts/dist-gate.sh

fmt: ## format the source
	@scripts/setup.sh lint
	@scripts/with-rust.sh cargo fmt --all

lint: ## check formatting, and clippy without warnings
	@scripts/setup.sh lint
	@scripts/with-rust.sh cargo fmt --all --check
	@scripts/with-rust.sh cargo clippy --workspace --all-targets --locked -- -D warnings

deny: ## check licences and sources of dependencies
	@scripts/setup.sh build
	@scripts/deny.sh check licenses bans sources
