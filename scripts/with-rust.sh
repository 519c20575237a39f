#!/usr/bin/env bash
# Runs a command with the Rust toolchain that `make setup` found: with-rust.sh cargo build
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

use_rust || fail "no Rust $(min_rust) or newer found; run: make setup"
exec "$@"
