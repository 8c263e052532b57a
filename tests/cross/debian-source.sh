#!/bin/sh
# SPDX-License-Identifier: MIT
#
# debian-source.sh OUT NAME HEADER - fetches Debian's source package NAME into OUT/NAME.orig.tar,
# in the version of the installed package that owns HEADER, else in the one that apt offers, and
# prints its SHA-256. For what Debian packs as ELF only. The system's own package lists stay
# untouched; apt checks the signatures as always.
set -eu
out=${1:?usage: debian-source.sh OUT NAME HEADER}
name=${2:?a source package}
header=${3:?a header file}

fail() {
    echo "debian-source: $*" >&2
    exit 1
}

command -v apt-get >/dev/null || fail "this is not Debian; the source package $name comes from its archive"
mkdir -p "$out/apt/parts" "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
out=$(cd "$out" && pwd)

# The source lists of the distribution itself, in both forms, with sources instead of programs.
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$out/apt/parts/$(basename "$file")"
done
[ ! -f /etc/apt/sources.list ] ||
    sed -n 's/^deb\([[:space:]]\)/deb-src\1/p' /etc/apt/sources.list >"$out/apt/parts/one-line.list"

apt_get() {
    (cd "$out" && apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$out/apt/parts" \
        -o "Dir::State::lists=$out/apt/lists" -o "Dir::Cache=$out/apt/cache" \
        -o APT::Sandbox::User=root "$@")
}

owner=$(dpkg-query -S "$header" 2>/dev/null | head -n 1 | cut -d: -f1)
version=""
# shellcheck disable=SC2016 # a dpkg-query format
[ -z "$owner" ] || version=$(dpkg-query -W -f='${source:Version}' "$owner")

recipe="$name ${version:-newest}"
if [ -f "$out/$name.orig.tar" ] && [ "$(cat "$out/$name.version" 2>/dev/null)" = "$recipe" ]; then
    exit 0
fi
rm -f "$out/$name.orig.tar" "$out/$name"_*
apt_get update || fail "apt cannot read the source lists of the archive"
{ [ -n "$version" ] && apt_get source --download-only "$name=$version" 2>/dev/null >&2; } ||
    apt_get source --download-only "$name" >&2 ||
    fail "apt cannot fetch the source package $name"
for file in "$out/$name"_*.orig.tar.*; do
    case $file in
    *.asc) continue ;;
    esac
    echo "debian-source: $(basename "$file") SHA-256 $(sha256sum "$file" | cut -d' ' -f1)"
    ln -sf "$file" "$out/$name.orig.tar"
done
[ -f "$out/$name.orig.tar" ] || fail "the source package $name has no upstream archive"
echo "$recipe" >"$out/$name.version"
