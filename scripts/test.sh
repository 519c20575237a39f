#!/usr/bin/env bash
# Runs every test: the workspace's own, then the known answers against a second implementation in
# Python, and the minting programs of the documentation against them.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

use_rust || fail "no Rust $(min_rust) or newer found; run: make setup"
python=$(find_python) || fail "no python3 with the module cryptography found; run: make setup"
cd "$root"

# 16 is a phone's own.
for number in {01..15} {17..38}; do
    grep -rq "fn situation_${number}_" --include='*.rs' core turnstile sync-server tests ||
        fail "no test is named after situation $number of the cases"
done
say "building the programs and tests"
cargo build --workspace --bins --locked "${test_features[@]}"
cargo test --workspace --locked --no-fail-fast "${test_features[@]}"
"$python" tests/vectors/check.py
"$python" tests/vectors/minting.py
say "all tests passed, in $SECONDS s with the build"
