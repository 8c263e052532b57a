#!/bin/sh
# SPDX-License-Identifier: MIT
#
# boost.sh WORK SDK - Boost.Program_options for arm64 and x86_64 macOS, from Debian's source package
# of the installed Boost headers, as one universal archive in SDK/usr/local/lib.
set -eu
work=${1:?usage: boost.sh WORK SDK}
sdk=${2:?usage: boost.sh WORK SDK}
here=$(cd "$(dirname "$0")" && pwd)
archive=libboost_program_options.a

fail() {
    echo "boost: $*" >&2
    exit 1
}

[ -f /usr/include/boost/version.hpp ] || fail "Boost is missing. Debian: apt-get install libboost1.81-dev"
mkdir -p "$work"
work=$(cd "$work" && pwd)
sdk=$(cd "$sdk" && pwd)
owner=$(dpkg-query -S /usr/include/boost/version.hpp | cut -d: -f1)
# shellcheck disable=SC2016 # a dpkg-query format
source=$(dpkg-query -W -f='${source:Package}' "$owner")

"$here/debian-source.sh" "$work" "$source" /usr/include/boost/version.hpp
recipe=$(cat "$work/$source.version" "$here/boost.sh" | sha256sum)
if [ "$(cat "$work/$archive.recipe" 2>/dev/null)" != "$recipe" ]; then
    echo "boost: unpacking and compiling Program_options for arm64 and x86_64"
    rm -rf "$work/boost" "$work/objects"
    tar -xf "$work/$source.orig.tar" -C "$work" --wildcards --transform 's,^[^/]*/,boost/,' \
        '*/libs/program_options/src/*.cpp' || fail "no sources of Program_options in $source"
    for architecture in arm64 x86_64; do
        objects=$work/objects/$architecture
        mkdir -p "$objects"
        (cd "$objects" && find "$work/boost" -name '*.cpp' ! -name winmain.cpp -print0 |
            xargs -0 -n 2 -P 2 clang++-19 -target "$architecture-apple-macos13.0" -isysroot "$sdk" \
                -std=c++20 -Os -fvisibility=hidden -DNDEBUG -c)
        llvm-ar-19 rcs "$work/objects/$architecture.a" "$objects"/*.o
    done
    rm -f "$work/$archive"
    llvm-lipo-19 -create "$work/objects/arm64.a" "$work/objects/x86_64.a" -output "$work/$archive"
    echo "$recipe" >"$work/$archive.recipe"
fi
cp "$work/$archive" "$sdk/usr/local/lib/"
echo "boost: $archive of $(cat "$work/$source.version") is in place"
