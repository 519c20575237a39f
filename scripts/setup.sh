#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine ready to build Stile: setup.sh [build|demo|test|lint|arm|dist|all]
# (arm: to test for the processors of boards; dist: to build programs for them)
# Says first what it takes, then installs only what is missing. Writes to target/, .stile/,
# and where apt and rustup keep their own things; shell profiles and the user's default
# toolchain stay as they are.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/boards.sh
. "$(dirname "$0")/boards.sh"

purpose=${1:-all}
case $purpose in build | demo | test | lint | arm | dist | all) ;;
*) fail "no such purpose: $purpose (build, demo, test, lint, arm, dist or all)" ;; esac

# What a build from nothing takes, measured on two cores and rounded up.
case $purpose in
demo | build) minutes=10 build_mib=2048 ;;
test | lint) minutes=15 build_mib=4096 ;;
arm | dist) minutes=30 build_mib=6144 ;;
all) minutes=25 build_mib=6144 ;;
esac
memory_mib=1536  # the widest moment: two rustc at once, one of them linking
install_mib=1536 # Debian packages and a Rust toolchain
probe_seconds=10 # how long rustup's server may take to answer before Debian's Rust is tried

log=$root/.stile/setup.log
mkdir -p "$root/.stile"
: >"$log"

# --- time, disk, memory -------------------------------------------------------------

gib() { awk -v mib="$1" 'BEGIN { printf "%.1f GiB", mib / 1024 }'; }

# The nearest existing folder at or above the given one.
existing() {
    local dir=$1
    until [ -d "$dir" ]; do dir=$(dirname "$dir"); done
    echo "$dir"
}

free_mib() { df -Pk "$(existing "$1")" | awk 'NR == 2 { print int($4 / 1024) }'; }
used_mib() { du -sk "$1" 2>/dev/null | awk '{ used = int($1 / 1024) } END { print used + 0 }'; }

# Memory that a build can have, swap included, within a container's limit.
available_mib() {
    local limit=max
    [ -r /sys/fs/cgroup/memory.max ] && limit=$(cat /sys/fs/cgroup/memory.max)
    awk -v limit="$limit" '/^(MemAvailable|SwapFree):/ { kib += $2 }
        END { if (limit != "max" && limit / 1024 < kib) kib = limit / 1024; print int(kib / 1024) }' /proc/meminfo
}

# need_disk FOLDER MIB WHAT
need_disk() {
    local free
    free=$(free_mib "$1")
    [ "$free" -ge "$2" ] || fail \
        "too little disk: $3 needs $(gib "$2") in $1, and $(gib "$free") are free." \
        "Free some, or point CARGO_TARGET_DIR to a larger disk. (STILE_NO_CHECKS=1 goes on all the same.)"
}

check_room() {
    local target=${CARGO_TARGET_DIR:-${CARGO_BUILD_TARGET_DIR:-$root/target}} memory
    local left=$((build_mib - $(used_mib "$target")))
    memory=$(available_mib)
    say "the first time takes about $minutes minutes on two cores, $(gib "$build_mib") of disk and" \
        "$(gib "$memory_mib") of memory; later builds take seconds."
    say "this machine: $(nproc) cores, $(gib "$(free_mib "$target")") of disk free, $(gib "$memory") of memory free."
    [ -z "${STILE_NO_CHECKS:-}" ] || return 0
    [ "$left" -le 0 ] || need_disk "$target" "$left" "the build"
    [ "$memory" -ge "$memory_mib" ] || fail \
        "too little memory: the build needs $(gib "$memory_mib"), and $(gib "$memory") are free." \
        "Close something, or add swap. (STILE_NO_CHECKS=1 goes on all the same; CARGO_BUILD_JOBS=1 helps.)"
}

# --- Debian packages ----------------------------------------------------------------

wants() { case "$purpose" in all | "$1") true ;; *) false ;; esac; }

has_c_compiler() { echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1; }

has_ca_certificates() {
    local file
    for file in "${SSL_CERT_FILE:-}" "${CARGO_HTTP_CAINFO:-}" \
        /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
        [ -n "$file" ] && [ -s "$file" ] && return
    done
    return 1
}

has_downloader() { command -v curl >/dev/null || command -v wget >/dev/null; }

# `all` is for this machine itself; what boards need is asked for by name.
missing_for_boards() {
    local arch debian
    for arch in x86_64 aarch64 armv7; do
        ! is_native "$arch" || continue
        debian=$(debian_arch "$arch")
        command -v "qemu-${arch/armv7/arm}" >/dev/null || echo qemu-user
        if [ "$purpose" = dist ]; then
            [ -d "/usr/$(debian_prefix "$arch")/lib" ] || echo "libc6-$debian-cross"
        elif [ "$arch" != x86_64 ]; then
            command -v "$(debian_prefix "$arch")-gcc" >/dev/null ||
                echo "gcc-$(debian_prefix "$arch")" "libc6-dev-$debian-cross"
        fi
    done
    [ "$purpose" = dist ] || return 0
    python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
    command -v readelf >/dev/null || echo binutils
}

missing_packages() {
    has_ca_certificates || echo ca-certificates
    has_c_compiler || echo gcc libc6-dev
    if { wants demo || wants test; } && ! command -v zbarimg >/dev/null; then echo zbar-tools; fi
    case $purpose in arm | dist) missing_for_boards ;; esac
    if wants test; then
        find_python >/dev/null || echo python3 python3-cryptography
        # The documentation's examples are run: the API's by curl, minting in each of its languages.
        command -v curl >/dev/null || echo curl
        command -v java >/dev/null && command -v javac >/dev/null || echo default-jdk-headless
        command -v node >/dev/null || echo nodejs
        python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv # for scripts/schemathesis.sh
        command -v php >/dev/null || echo php-cli
    fi
}

has_apt() { command -v apt-get >/dev/null && command -v apt-cache >/dev/null; }

can_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null </dev/null; }

as_root() {
    local name vars=(DEBIAN_FRONTEND=noninteractive)
    for name in http_proxy https_proxy no_proxy; do
        [ -z "${!name:-}" ] || vars+=("$name=${!name}")
    done
    if [ "$(id -u)" = 0 ]; then env "${vars[@]}" "$@"; else sudo -n env "${vars[@]}" "$@"; fi
}

lists_are_fresh=
refresh_lists() {
    [ -z "$lists_are_fresh" ] || return 0
    lists_are_fresh=1
    say "reading Debian's package lists"
    as_root apt-get update -q -o DPkg::Lock::Timeout=120 >>"$log" 2>&1 </dev/null || true
}

# The version that apt would install, without Debian's own additions: 1.96.0
candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9.]*\).*/\1/p'; }

apt_install() { # --no-remove: nothing that the user has may go
    as_root apt-get install -y -q --no-install-recommends --no-remove -o DPkg::Lock::Timeout=120 \
        "$@" >>"$log" 2>&1 </dev/null
}

install_packages() {
    local command="apt-get install -y --no-install-recommends $*" package
    [ $# -gt 0 ] || return 0
    has_apt || fail "missing on this machine: $* (names of Debian packages)." \
        "It has no apt-get: install them its own way, then run make again."
    can_be_root || fail "missing on this machine: $*" \
        "Installing them needs root, and there is neither root nor a sudo without password. Have this run as root," \
        "then run make again:" "    apt-get update && $command"
    [ -n "${STILE_NO_CHECKS:-}" ] || need_disk /usr "$install_mib" "installing packages"
    for package; do [ -n "$(candidate "$package")" ] || refresh_lists; done
    say "installing Debian packages: $*"
    apt_install "$@" && return
    refresh_lists # a list may have named a version that is gone
    apt_install "$@" && return
    tail -n 15 "$log" >&2
    fail "apt-get could not install them (all of its output: $log). Try, as root:" "    apt-get update && $command"
}

# --- Rust ---------------------------------------------------------------------------

download() { # URL FILE, quick to give up when nothing answers
    if command -v curl >/dev/null; then
        curl -fsSL --connect-timeout "$probe_seconds" --max-time 60 -o "$2" "$1" </dev/null
    else
        wget -q --tries=1 --timeout="$probe_seconds" -O "$2" "$1" </dev/null
    fi
}

# A user who has rustup gets one toolchain more, beside the default one.
add_toolchain() {
    local rustup
    rustup=$(rustup_bin) || return 1
    say "asking your rustup for Rust $(min_rust), beside the toolchains that you have"
    timeout 1200 "$rustup" toolchain install "$(min_rust)" --profile minimal \
        --component rustfmt --component clippy --no-self-update >>"$log" 2>&1 </dev/null
}

# rustup's official way. A mirror that the user has set is asked before rustup's own server.
install_rustup() {
    local script=$root/.stile/rustup-init.sh url
    ! rustup_bin >/dev/null && has_downloader || return 1
    for url in ${RUSTUP_UPDATE_ROOT:+"$RUSTUP_UPDATE_ROOT/rustup-init.sh"} https://sh.rustup.rs; do
        say "asking $url for Rust"
        download "$url" "$script" 2>>"$log" || continue
        need_disk "$cargo_home" "$install_mib" "a Rust toolchain"
        # The skipped check is for another Rust on PATH: that one is too old, and stays as it is.
        RUSTUP_INIT_SKIP_PATH_CHECK=yes timeout 1200 sh "$script" -y --no-modify-path --profile minimal \
            --component rustfmt --component clippy >>"$log" 2>&1 </dev/null && return
    done
    return 1
}

# The names of Debian's Rust packages when they are new enough.
debian_rust() {
    local suffix
    for suffix in -web ""; do
        if at_least "$(candidate "rustc$suffix")" "$(min_rust)" && at_least "$(candidate "cargo$suffix")" "$(min_rust)"; then
            echo "rustc$suffix" "cargo$suffix"
            return
        fi
    done
    return 1
}

no_rust() {
    local found=${1:+"The newest one here is $1. "}
    fail "no Rust $(min_rust) or newer on this machine. ${found}rustup could not be reached, and no Debian package is new enough." \
        "Install Rust from https://rustup.rs (behind a proxy: set https_proxy; with a mirror: set RUSTUP_DIST_SERVER" \
        "and RUSTUP_UPDATE_ROOT), or put a new enough cargo and rustc on PATH. Then run make again. Details: $log"
}

# Finds or installs Rust, and the missing `packages` before it: rustup needs some of them.
set_up_rust() {
    local found rust=()
    if use_rust; then
        install_packages "${packages[@]}"
        return
    fi
    found=$(rust_version || true)
    [ -z "$found" ] || say "the Rust on PATH is $found; Stile needs $(min_rust) or newer"
    if can_be_root; then
        if has_apt && ! has_downloader && ! rustup_bin >/dev/null; then packages+=(curl); fi
    elif [ ${#packages[@]} -gt 0 ]; then # one message with all that is missing, not two in a row
        if read -r -a rust < <(debian_rust); then packages+=("${rust[@]}"); elif ! has_downloader; then packages+=(curl); fi
    fi
    install_packages "${packages[@]}"
    { add_toolchain || install_rustup; } && use_rust && return
    say "rustup is not to be had from here; looking for Debian's Rust"
    if has_apt && can_be_root && ! debian_rust >/dev/null; then refresh_lists; fi
    read -r -a rust < <(debian_rust) || no_rust "$found"
    can_be_root || say "without root: install Rust $(min_rust) or newer from https://rustup.rs, or put one on PATH"
    install_packages "${rust[@]}"
    use_rust || no_rust "$found"
}

# The standard library for a board's target, by the rustup that the Rust in use is of.
add_target() { # TARGET
    local rustup toolchain
    use_rust && rustup=$(rustup_bin) && toolchain=$("${RUSTC:-rustc}" --print sysroot) || return 1
    case $toolchain in */toolchains/*) ;; *) return 1 ;; esac
    say "asking your rustup for $1"
    timeout 600 "$rustup" target add --toolchain "${toolchain##*/}" "$1" >>"$log" 2>&1 </dev/null
}

# Else Debian's Rust, which brings the library's source. A target that neither can build is no
# error here: the script that wants it says that it is left out.
set_up_target() { # TARGET
    local rust=()
    ! (use_rust_for "$1") || return 0
    if add_target "$1"; then return; fi
    say "looking for Debian's Rust, which builds the library for $1 from its source"
    has_apt && can_be_root || return 0
    debian_rust >/dev/null || refresh_lists
    read -r -a rust < <(debian_rust) || return 0
    (install_packages "${rust[@]}" "${rust[0]/rustc/rust}-src") || true
}

set_up_zig() {
    "$zig/bin/pip" install -q --no-index "${zig_packages[@]}" >>"$log" 2>&1 </dev/null && return
    say "asking PyPI for ${zig_packages[*]} (100 MB), into .stile/zig"
    python3 -m venv --clear "$zig" >>"$log" 2>&1 </dev/null &&
        "$zig/bin/pip" install -q "${zig_packages[@]}" >>"$log" 2>&1 </dev/null && return
    fail "zig could not be installed from PyPI. With a mirror: set PIP_INDEX_URL. Details: $log"
}

set_up_lint() {
    local package
    cargo fmt --version >>"$log" 2>&1 && cargo clippy -V >>"$log" 2>&1 && return
    package=$(dpkg-query -S "$(readlink -f "$(command -v cargo)")" 2>/dev/null || true)
    case $package in
    cargo-web:*) install_packages rustfmt-web rust-web-clippy ;;
    cargo:*) install_packages rustfmt rust-clippy ;;
    *) fail "this Rust has no rustfmt or no clippy. With rustup: rustup component add rustfmt clippy" ;;
    esac
}

# ------------------------------------------------------------------------------------

check_room
read -r -a packages <<<"$(missing_packages | tr '\n' ' ')"
set_up_rust
case $purpose in
lint) set_up_lint ;;
arm | dist) for arch in aarch64 armv7 x86_64; do set_up_target "$(rust_target "$arch")"; done ;;
esac
if [ "$purpose" = dist ]; then set_up_zig; fi
say "ready: Rust $(rust_version) ($(command -v cargo)), set up in $SECONDS s"
