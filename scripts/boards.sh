# shellcheck shell=bash
# How Stile is built for the processors of boards: which Rust, which C compiler, which emulator.
# Sourced by bash behind lib.sh; sets variables of this process only.
# shellcheck disable=SC2034,SC2154

# Rust's name, Debian's, and Debian's folder and prefix for tools of a processor.
rust_target() { # ARCH
    case $1 in
    x86_64 | aarch64) echo "$1-unknown-linux-gnu" ;;
    armv7) echo armv7-unknown-linux-gnueabihf ;;
    *) fail "no such processor: $1 (x86_64, aarch64 or armv7)" ;;
    esac
}
debian_arch() { case $1 in x86_64) echo amd64 ;; aarch64) echo arm64 ;; armv7) echo armhf ;; esac; }
debian_prefix() { case $1 in armv7) echo arm-linux-gnueabihf ;; *) echo "$1-linux-gnu" ;; esac; }

is_native() { [ "$1" = "$(uname -m)" ]; }

# The command that runs a processor's programs; nothing where they run by themselves. Programs of
# the emulator are started by name, so nothing need be registered with the kernel.
emulator() { # ARCH
    is_native "$1" || echo "qemu-${1/armv7/arm} -L /usr/$(debian_prefix "$1")"
}

# Does the Rust in use bring the standard library for a target?
has_std() { # TARGET
    local folder
    folder=$("${RUSTC:-rustc}" --print target-libdir --target "$1" 2>/dev/null) || return 1
    compgen -G "$folder/libstd-*" >/dev/null
}

# Takes a Rust that can build for a target: the one in use where it has the target, else Debian's
# with the standard library's source, which is built along; the unstable flag for that is allowed
# to it by name. Sets `std_flags`, which every call of cargo for the target needs.
use_rust_for() { # TARGET
    std_flags=()
    ! { use_rust && has_std "$1"; } || return 0
    std_flags=("-Zbuild-std=std,panic_unwind")
    export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    at_least "$(rust_version)" "$(min_rust)" && [ -f /usr/lib/rustlib/src/rust/library/Cargo.lock ]
}

# Says so where no Rust here can build for a processor.
can_build() { # ARCH
    (use_rust_for "$(rust_target "$1")") || {
        say "$1: LEFT OUT. No Rust here has the standard library for $(rust_target "$1"), and none could be" \
            "installed. With rustup: rustup target add $(rust_target "$1")"
        return 1
    }
}

# Zig, a C compiler and linker for every processor and any version of the C library, and
# cargo-zigbuild, which has cargo use it; both in a folder of this checkout.
zig_packages=(ziglang==0.17.1 cargo-zigbuild==0.24.1)
zig=$root/.stile/zig
