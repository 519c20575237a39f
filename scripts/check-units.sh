#!/usr/bin/env bash
# Checks the systemd units: that systemd understands every line, and that they stay as closed
# as they are. Says so and goes on where the machine has no systemd-analyze.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

exposure=20 # most that `systemd-analyze security` may count, in tenths of its points

command -v systemd-analyze >/dev/null || {
    say "no systemd-analyze here: the units were not checked"
    exit 0
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for unit in "$root"/packaging/systemd/*.service; do
    name=$(basename "$unit")
    # The program need not be installed here for its unit to be right.
    sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "$unit" >"$work/$name"
    complaints=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$work/$name" 2>&1 | grep -F "$name" || true)
    [ -z "$complaints" ] || fail "$name:" "$complaints"
    systemd-analyze security --offline=true --no-pager --threshold=$exposure "$work/$name" >"$work/report" ||
        fail "$name is more exposed than $exposure tenths of a point:" "$(cat "$work/report")"
    say "$name: $(tail -n 1 "$work/report" | sed 's/[^A-Za-z0-9 .:-]//g')"
done
