#!/usr/bin/env bash
# Runs the tests of core and turnstile as the processors of boards run them, under qemu:
# test-arm.sh [aarch64|armv7]
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/boards.sh
. "$(dirname "$0")/boards.sh"

limit=3600 # seconds for one file of tests, so that one that hangs ends
export PROPTEST_CASES=${PROPTEST_CASES:-64} # an emulated processor is some ten times slower
# Left out under qemu, which lacks TCGETS2, by which serial ports and terminals are asked for their settings.
on_lines=(
    boards:: plugged::situation plugged::a_scanner_without plugged::a_port
    modbus::a_unit_is_switched modbus::a_unit_that_answers modbus::a_unit_that_is_unplugged
    modbus::an_opening_that modbus::the_gate_opens
    feedback::relay_and_lamps feedback::a_lamp_that
    doctor::each_lamp set_clock::a_pin_that_is_typed screen::a_guard_admits screen::a_signal_shuts
)
cd "$root"
logs=${CARGO_TARGET_DIR:-target}/arm
mkdir -p "$logs"

test_on() ( # ARCH
    local target run skip=()
    target=$(rust_target "$1")
    run=$(emulator "$1")
    use_rust_for "$target"
    if ! is_native "$1"; then
        lower=${target//-/_}
        upper=${lower^^}
        gcc=$(debian_prefix "$1")-gcc
        export "CC_$lower=$gcc" "CARGO_TARGET_${upper}_LINKER=$gcc"
        export "CARGO_TARGET_${upper}_RUNNER=timeout $limit $run"
        export STILE_TEST_RUNNER=$run # for the programs that tests start
        skip=("${on_lines[@]/#/--skip=}")
    fi
    tests=(cargo test "${std_flags[@]}" --target "$target" --locked -p stile-core -p stile-turnstile
        --features stile-turnstile/fault-points)
    say "$1: building with Rust $(rust_version)"
    "${tests[@]}" --no-run
    say "$1: testing, run by ${run:-this machine}"
    "${tests[@]}" --no-fail-fast -- "${skip[@]}"
)

tested='' failed=''
for arch in ${1:-aarch64 armv7}; do
    can_build "$arch" || continue
    tested="$tested $arch"
    test_on "$arch" 2>&1 | tee "$logs/$arch.log" || failed="$failed $arch"
    awk -v arch="$arch" '
        /^test result: / { passed += $4; failed += $6; left_out += $8 + $12 }
        END { print "stile: " arch ": " passed + 0 " passed, " failed + 0 " failed, " left_out + 0 " left out" }
    ' "$logs/$arch.log"
done
[ -n "$tested" ] || fail "nothing could be tested"
[ -z "$failed" ] || fail "failed on:$failed"
say "passed on:$tested, in $SECONDS s with the build"
