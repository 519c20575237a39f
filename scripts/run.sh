#!/usr/bin/env bash
# Builds server, gate and one program more for release, and runs that: run.sh stile-demo --keep
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

name=$1
shift
use_rust || fail "no Rust $(min_rust) or newer found; run: make setup"

say "building for release"
# Cargo itself says where it put the program: the target folder is the user's to choose.
program=$(cd "$root" && cargo build --workspace --bin stile-server --bin stile-gate --bin "$name" --release --locked \
    --message-format json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/'"$name"'\)".*/\1/p')
[ -n "$program" ] || fail "no program of this workspace is called $name"
say "built in $SECONDS s"
exec "$program" "$@"
