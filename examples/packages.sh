#!/bin/sh
# SPDX-License-Identifier: MIT
#
# packages.sh build|test|lint - installs what is needed to build metalrun, to run its tests, or to
# check its sources: Debian 12 or newer with apt, macOS with Homebrew. Says what it does; installs
# only what is missing; can be run again.
set -eu
level=${1:?usage: packages.sh build|test|lint}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The first package of a list that this release of Debian has.
first_of() {
    for name in "$@"; do
        if apt-cache show "$name" >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    echo "$1"
}

install_debian() {
    missing=""
    for name in "$@"; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing="$missing $name"
    done
    [ -n "$missing" ] || { echo "packages: all there"; return 0; }
    echo "packages: installing$missing"
    # shellcheck disable=SC2086 # a list of names
    as_root apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 $missing >/dev/null
}

if [ "$(uname -s)" = Darwin ]; then
    command -v brew >/dev/null || { echo "packages: install Homebrew first" >&2; exit 125; }
    set -- cmake ninja boost tomlplusplus fmt pugixml
    [ "$level" = build ] || set -- "$@" doctest
    [ "$level" != lint ] || set -- "$@" llvm shellcheck mandoc
    echo "packages: brew install $*"
    brew install --quiet "$@"
    exit 0
fi
command -v apt-get >/dev/null || {
    echo "packages: this is neither Debian nor macOS; needed are a C++23 compiler, CMake, Ninja, Boost 1.81," \
         "toml++, {fmt}, nettle, pugixml, GNU Objective-C and doctest" >&2
    exit 125
}
export DEBIAN_FRONTEND=noninteractive
echo "packages: reading the package lists"
as_root apt-get update -qq
boost=$(first_of libboost1.81-dev libboost1.83-dev libboost-dev)
set -- g++ cmake ninja-build "$boost" "$(echo "$boost" | sed 's/libboost/libboost-program-options/')" \
    libtomlplusplus-dev libfmt-dev nettle-dev libpugixml-dev gobjc doctest-dev
[ "$level" = build ] || set -- "$@" strace valgrind mandoc git python3 zsh fish libunicorn-dev \
    "$(first_of clang-19 clang)" "$(first_of lld-19 lld)" "$(first_of llvm-19 llvm)"
[ "$level" != lint ] || set -- "$@" clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev shellcheck gcovr \
    lld-19 llvm-19 xz-utils openssl qemu-user-static g++-aarch64-linux-gnu gobjc-aarch64-linux-gnu
# The macOS headers of the cross build come from npm; other packages of nodejs bring their own.
[ "$level" != lint ] || command -v npm >/dev/null || set -- "$@" nodejs npm
install_debian "$@"
