#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pugixml.sh WORK OUT - pugixml's sources for its header-only use (the packaged header includes
# pugixml.cpp then, which Debian does not pack), from the source package, into the folder OUT.
set -eu
work=${1:?usage: pugixml.sh WORK OUT}
out=${2:?usage: pugixml.sh WORK OUT}
here=$(cd "$(dirname "$0")" && pwd)

"$here/debian-source.sh" "$work" pugixml /usr/include/pugixml.hpp
if ! cmp -s "$work/pugixml.version" "$out/version.txt"; then
    rm -rf "$out"
    mkdir -p "$out"
    tar -xf "$work/pugixml.orig.tar" -C "$out" --wildcards --strip-components=2 '*/src/pugi*'
    cp "$work/pugixml.version" "$out/version.txt"
fi
echo "pugixml: $(cat "$out/version.txt") is in $out"
