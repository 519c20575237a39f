# shellcheck shell=bash
# What the other scripts share: messages, versions, and where Rust and Python are.
# Sourced by bash; looks only, changes nothing on the machine.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cargo_home=${CARGO_HOME:-${HOME:-}/.cargo}

# The places where a test can make a gate hang, and clocks that it can set, are in programs for
# tests only.
# shellcheck disable=SC2034
test_features=(--features stile-turnstile/fault-points,stile-tests/fault-points)

say() { printf 'stile: %s\n' "$*"; }
fail() { printf 'stile: %s\n' "$@" >&2; exit 1; }

# The oldest Rust that builds Stile: `rust-version` in Cargo.toml, kept nowhere else.
min_rust() { sed -n 's/^rust-version *= *"\([^"]*\)".*/\1/p' "$root/Cargo.toml"; }

# at_least 1.95.0 1.92: is the first version the second one or newer? Nothing is older than all.
at_least() { [ -n "$1" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# The version of the Rust that is first on PATH: the older one of cargo and rustc.
rust_version() {
    local cargo rustc
    # Asking rustup's cargo for its version must not make it download a toolchain.
    cargo=$(cd "$root" && RUSTUP_AUTO_INSTALL=0 cargo -V 2>/dev/null </dev/null) || return 1
    rustc=$(cd "$root" && RUSTUP_AUTO_INSTALL=0 "${RUSTC:-rustc}" -V 2>/dev/null </dev/null) || return 1
    printf '%s\n' "$cargo" "$rustc" | awk '{ print $2 }' | sort -V | head -n 1
}

rustup_bin() { PATH=$PATH:$cargo_home/bin command -v rustup; }

# Prints the folder of cargo in one of rustup's toolchains, if that toolchain is installed.
toolchain_bin() {
    local rustup
    rustup=$(rustup_bin) || return 1
    "$rustup" toolchain list 2>/dev/null | grep -q "^$1\(-\| \|$\)" || return 1
    dirname "$("$rustup" which --toolchain "$1" cargo)"
}

# Puts a Rust that is new enough first on PATH, for this process only. The one on PATH
# comes first; a Rust is passed over only when it is too old or does not run.
use_rust() {
    local path=$PATH bin
    for bin in "" "$cargo_home/bin" /usr/bin "$(toolchain_bin stable)" "$(toolchain_bin "$(min_rust)")"; do
        PATH=${bin:+$bin:}$path
        at_least "$(rust_version)" "$(min_rust)" && return
    done
    PATH=$path
    return 1
}

# Prints the Python that the known answers are checked with: the user's, else the system's.
find_python() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import cryptography.hazmat.primitives.asymmetric.ed25519' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}
