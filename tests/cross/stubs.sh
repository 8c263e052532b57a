#!/bin/sh
# SPDX-License-Identifier: MIT
#
# stubs.sh - writes stubs/libc++.tbd anew: every symbol of libc++ that our own objects and the
# libraries in them ask for, on both architectures. It shows that what we use links; that macOS 13
# has it is what the availability annotations of libc++'s headers check, at compile time. To be run
# by hand when the cross build misses symbols of libc++; the result is committed.
set -eu
cd "$(dirname "$0")/../.."
stub=tests/cross/stubs/libc++.tbd

# The objects; what does not link yet is the reason to be here.
for architecture in arm64 x86_64; do
    cmake --preset macos-$architecture >/dev/null 2>&1 || {
        echo "stubs: run tests/cross/build.sh first" >&2
        exit 1
    }
    cmake --build --preset macos-$architecture -j "${METALRUN_JOBS:-$(nproc)}" -- -k 0 >/dev/null || true
done

# std's names, operator new and delete, type information of built-in types, and the C++ ABI library.
# Nothing is taken away that another object defines weakly: it may be a plain import here.
pattern='^(__ZT[IS]P?K?[a-z]$|__Z(T[VTIS]|NK?|GV)?N?K?St|__ZT[VIS]N10__cxxabiv1|__Z(nw|na|dl|da)'
pattern="$pattern|___cxa_|___gxx_|___dynamic_cast\$|__ZTh[nv].*St|__ZTv.*St)"
{
    cat <<'HEAD'
--- !tapi-tbd
# SPDX-License-Identifier: MIT
#
# Written by stubs.sh: what our own objects call of libc++, for the linker.
tbd-version: 4
targets: [ x86_64-macos, arm64-macos, arm64e-macos ]
install-name: '/usr/lib/libc++.1.dylib'
exports:
  - targets: [ x86_64-macos, arm64-macos, arm64e-macos ]
    symbols:
HEAD
    find build/macos-arm64 build/macos-x86_64 build/cross/source/objects -name '*.o' -print0 |
        xargs -0 llvm-nm-19 --undefined-only --format=just-symbols 2>/dev/null |
        grep -E "$pattern" | sort -u | sed "s/.*/      - '&'/"
    echo "..."
} >"$stub.new"
mv "$stub.new" "$stub"
echo "stubs: $stub has $(grep -c "^      - " "$stub") symbols"
tests/cross/sdk.sh build/cross/sdk
