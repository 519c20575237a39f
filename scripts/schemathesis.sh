#!/usr/bin/env bash
# Sends a running server what docs/openapi.json allows and what it forbids, and checks each answer
# against it: all checks of Schemathesis. schemathesis.sh [CASES PER ROUTE AND PHASE, by default 20]
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

version=4.32.5
cases=${1:-20}
tools=$root/.stile/schemathesis
use_rust || fail "no Rust $(min_rust) or newer found; run: make setup"
cd "$root"

if [ "$("$tools/bin/schemathesis" --version 2>/dev/null | awk '{ print $NF }')" != "$version" ]; then
    say "asking PyPI for schemathesis $version, into .stile/schemathesis"
    python3 -m venv --clear "$tools"
    "$tools/bin/pip" install -q "schemathesis==$version"
fi

program=$(cargo build --workspace --bins --locked "${test_features[@]}" --message-format json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/stile-server\)".*/\1/p')
work=$(mktemp -d)
export STILE_DATA=$work/data PYTHONDONTWRITEBYTECODE=1
serving=''
trap '[ -z "$serving" ] || kill "$serving"; rm -rf "$work"' EXIT

{
    "$program" venue add museum --name "The Museum" --time-zone Asia/Shanghai
    "$program" gate add east --name "East gate"
    # The first key is the one that cases may revoke.
    "$program" key add --venue museum --scopes records:read --name spare
    "$program" key add --venue museum --scopes admin --name schemathesis >"$work/key"
} >>"$work/log" 2>&1
STILE_KEY=$(cat "$work/key")
"$program" serve --listen 127.0.0.1:0 >"$work/said" 2>>"$work/log" &
serving=$!
for _ in $(seq 100); do
    grep -q '^listening on ' "$work/said" && break
    sleep 0.1
done
server=$(sed -n 's/^listening on //p' "$work/said")
[ -n "$server" ] || fail "the server did not start:" "$(tail -n 5 "$work/log")"

invitation=$("$program" enrol --no-confirm --gate east --server "$server" 2>>"$work/log")
STILE_DEVICE=$(python3 tests/schemathesis/furnish.py "$server" "$STILE_KEY" "$invitation")
export STILE_KEY STILE_DEVICE
say "checking $server by docs/openapi.json, $cases cases for each route and phase"
# It keeps what it found beside its settings.
cp tests/schemathesis/{schemathesis.toml,hooks.py} "$work"
cd "$work"
"$tools/bin/schemathesis" run "$root/docs/openapi.json" --url "$server" --checks all --max-examples "$cases" --no-color ||
    fail "an answer was not as docs/openapi.json says"
