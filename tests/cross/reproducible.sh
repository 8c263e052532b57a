#!/bin/sh
# SPDX-License-Identifier: MIT
#
# reproducible.sh - builds the shim and the probe twice, for Linux and for both macOS architectures,
# in two new folders whose paths differ in length, and compares: every file of the one must have the
# SHA-256 of the other's. Takes its SDK from the cross build. Status 1 if a file differs.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
jobs=${METALRUN_JOBS:-$(nproc)}
library=lib/metalrun/libmetalrun_shim
unset CCACHE_BASEDIR CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER

[ -e build/cross/sdk/recipe ] || {
    echo "reproducible: the SDK is missing; run tests/cross/build.sh first" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FOLDER - the sources are copied there; what is compared is installed below it.
build() {
    mkdir -p "$1/build"
    cp -R CMakeLists.txt CMakePresets.json config launcher man shim tests "$1"
    ln -s "$root/build/cross" "$1/build/cross"
    cd "$1"
    for preset in release macos-arm64 macos-x86_64; do
        {
            cmake --preset $preset -DMETALRUN_TESTS=OFF &&
                cmake --build --preset $preset -j "$jobs" --target metalrun_shim metalrun-probe &&
                cmake --install build/$preset/shim --prefix "$1/installed-$preset"
        } >log 2>&1 || {
            cat log >&2
            exit 1
        }
    done
    mkdir -p universal
    llvm-lipo-19 -create build/macos-arm64/$library.dylib build/macos-x86_64/$library.dylib \
        -output universal/libmetalrun_shim_universal.dylib
    cmake -D FOLDER=universal -P shim/checksums.cmake
    find installed-* universal -type f ! -name install_manifest.txt | LC_ALL=C sort |
        xargs sha256sum >sums
    for folder in installed-*/lib/metalrun universal; do
        (cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS)
    done
    cd "$root"
}

one=$work/1
other=$work/another/folder/with-a-longer-name/2
build "$one"
build "$other"
count=$(wc -l <"$one/sums")
if [ "$count" -ne 11 ]; then # a library, its SHA256SUMS and a probe thrice, the universal library
    echo "FAILED  files: expected 11, found $count" && cat "$one/sums"
    exit 1
fi
status=0
while read -r sum file; do
    if grep -qxF "$sum  $file" "$other/sums"; then
        echo "ok      $file, built twice: $sum"
    else
        status=1
        echo "FAILED  $file, built twice: expected '$sum', found '$(grep -F " $file" "$other/sums")'"
    fi
done <"$one/sums"
exit $status
