#!/usr/bin/env bash
# Runs cargo-deny over the workspace, building it first where it is missing:
# deny.sh check licenses bans sources
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

version=0.20.2
use_rust || fail "no Rust $(min_rust) or newer found; run: make setup"
cd "$root"

tools=$root/target/tools
PATH=$PATH:$tools/bin
found=$(cargo-deny --version 2>/dev/null | awk '{ print $2 }' || true)
if ! at_least "$found" "$version"; then
    say "building cargo-deny $version, which takes some minutes"
    # Not optimised: it is built far longer than it runs.
    cargo install cargo-deny --locked --version "$version" --root "$tools" --debug
    PATH=$tools/bin:$PATH
fi
exec cargo-deny --locked "$@"
