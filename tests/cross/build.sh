#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh - everything for macOS, from Debian: the SDK, the libraries, a native metalrun-embed,
# then launcher, shim and probe for arm64 and x86_64 (build/macos-arm64, build/macos-x86_64), and
# the universal shim (build/macos-universal). It can be run again; only what changed is done.
# METALRUN_JOBS: how many compilers at once (default: one per processor).
set -eu
cd "$(dirname "$0")/../.."
here=tests/cross
cross=build/cross
jobs=${METALRUN_JOBS:-$(nproc)}

missing=""
for tool in clang++-19:clang-19 ld64.lld-19:lld-19 llvm-lipo-19:llvm-19 cmake:cmake ninja:ninja-build \
    npm:npm xz:xz-utils; do
    command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
[ -z "$missing" ] || {
    echo "build: the cross build needs these packages:$missing (apt-get install$missing)" >&2
    exit 1
}

$here/sdk.sh $cross/sdk
$here/boost.sh $cross/source $cross/sdk
$here/pugixml.sh $cross/source $cross/pugixml
$here/libcxx.sh $cross/sdk $cross/libcxx

# Profiles become C++ by a program of ours, which must run here.
native=build/release
[ -f $native/CMakeCache.txt ] || {
    native=$cross/native
    cmake -S . -B $native -G Ninja -DCMAKE_BUILD_TYPE=Release -DMETALRUN_TESTS=OFF >/dev/null
}
cmake --build $native --target metalrun-embed -j "$jobs"
cmake -E copy_if_different $native/launcher/profile/metalrun-embed $cross/metalrun-embed

for architecture in arm64 x86_64; do
    echo "build: macOS, $architecture"
    cmake --preset macos-$architecture >$cross/configure-$architecture.log 2>&1 || {
        cat $cross/configure-$architecture.log >&2
        exit 1
    }
    cmake --build --preset macos-$architecture -j "$jobs" || {
        echo "build: if only symbols of libc++ are undefined, run $here/stubs.sh: it writes" \
            "$here/stubs/libc++.tbd anew from our own objects" >&2
        exit 1
    }
done

# The slice for arm64e programs needs Apple's own tools: ld64.lld writes no authenticated fixups.
library=lib/metalrun/libmetalrun_shim
mkdir -p build/macos-universal/lib/metalrun
llvm-lipo-19 -create build/macos-arm64/$library.dylib build/macos-x86_64/$library.dylib \
    -output build/macos-universal/${library}_universal.dylib
cmake -D FOLDER=build/macos-universal/lib/metalrun -P shim/checksums.cmake
echo "build: build/macos-universal/${library}_universal.dylib: arm64 and x86_64; no arm64e," \
    "which only Apple's tools make"
