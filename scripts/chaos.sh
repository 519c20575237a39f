#!/usr/bin/env bash
# Kills gates, server and both at random moments under load, as often as STILE_KILLS says, and
# holds what arrives against what the gates wrote.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

use_rust || fail "no Rust $(min_rust) or newer found; run: make setup"
cd "$root"
cargo build --workspace --bins --locked "${test_features[@]}"
cargo test --workspace --test system --locked "${test_features[@]}" -- --nocapture --test-threads 1 kills::
say "${STILE_KILLS:-24} kills of each kind survived, in $SECONDS s with the build"
