#!/usr/bin/env bash
# Builds stile-gate for boards and packs an archive per processor into target/dist/:
# dist-gate.sh [x86_64|aarch64|armv7]
set -euo pipefail
shopt -s inherit_errexit
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/boards.sh
. "$(dirname "$0")/boards.sh"

glibc=2.24 # of Debian 9, the oldest system on boards of 2018; zig links against that version
cd "$root"
target_dir=${CARGO_TARGET_DIR:-target}
dist=$target_dir/dist
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version *= *"\([^"]*\)".*/\1/p' Cargo.toml)
[ -x "$zig/bin/cargo-zigbuild" ] || fail "no zig here; run: scripts/setup.sh dist"

build() ( # TARGET
    use_rust_for "$1"
    export CARGO_ZIGBUILD_PYTHON_PATH=$zig/bin/python3
    say "building for $1 with Rust $(rust_version)"
    "$zig/bin/cargo-zigbuild" zigbuild "${std_flags[@]}" --release --locked --target "$1.$glibc" \
        -p stile-turnstile --bin stile-gate
)

check_needs() { # PROGRAM
    local libraries newest
    libraries=$(readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
    newest=$(readelf --version-info --wide "$1" | { grep -o 'GLIBC_[0-9.]*' || true; } | sed 's/GLIBC_//' | sort -V | tail -n 1)
    [ -z "$newest" ] || at_least "$glibc" "$newest" || fail "$1 needs GLIBC_$newest, and boards have $glibc"
    say "needs ${libraries:-no library }and ${newest:+at most GLIBC_}${newest:-no C library}"
}

check_runs() { # ARCH PROGRAM
    local run said
    run=$(emulator "$1")
    # shellcheck disable=SC2086 # the emulator's flags are words
    said=$($run "$2" --version)
    [ "$said" = "stile-gate $version" ] || fail "$2 --version says: $said"
    say "runs${run:+ by $run}: $said"
}

pack() { # TARGET PROGRAM
    local name=stile-gate-$version-$1
    mkdir -p "$dist/$name"
    install -m 755 "$2" "$dist/$name/stile-gate"
    install -m 644 packaging/systemd/stile-gate.* packaging/stile-gate.toml.example LICENSE "$dist/$name/"
    tar --create --gzip --file "$dist/$name.tar.gz" --directory "$dist" --owner=0 --group=0 \
        --numeric-owner --sort=name "$name"
    rm -r "${dist:?}/$name"
}

rm -rf "$dist"
for arch in ${1:-x86_64 aarch64 armv7}; do
    can_build "$arch" || continue
    target=$(rust_target "$arch")
    program=$target_dir/$target/release/stile-gate
    build "$target"
    check_needs "$program"
    check_runs "$arch" "$program"
    pack "$target" "$program"
done
[ -d "$dist" ] || fail "nothing could be built"
(cd "$dist" && sha256sum stile-gate-*.tar.gz >SHA256SUMS)
say "packed in $SECONDS s, in $dist:"
(cd "$dist" && du -h stile-gate-*.tar.gz && cat SHA256SUMS)
