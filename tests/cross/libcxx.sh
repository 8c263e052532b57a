#!/bin/sh
# SPDX-License-Identifier: MIT
#
# libcxx.sh SDK OUT - a static libc++ with its ABI library and its unwinder for arm64 and x86_64
# macOS, from the sources in the package that SDK came from: OUT/ARCHITECTURE/libc++.a. For tests
# only: on Linux there is no libc++ that agrees with Apple's (std::string is laid out differently on
# arm64), and there is no unwinder in its libSystem that reads Apple's tables. Nothing is done when
# OUT is up to date.
set -eu
sdk=${1:?usage: libcxx.sh SDK OUT}
out=${2:?usage: libcxx.sh SDK OUT}
here=$(cd "$(dirname "$0")" && pwd)
archive=$sdk.downloads/sdk.tgz

recipe=$(cat "$sdk/recipe" "$here/libcxx.sh" | sha256sum)
if [ "$(cat "$out/recipe" 2>/dev/null)" = "$recipe" ]; then
    echo "libcxx: $out is up to date"
    exit 0
fi
[ -f "$archive" ] || { # only the folder may have been kept
    rm -f "$sdk/recipe"
    "$here/sdk.sh" "$sdk"
}

rm -rf "$out"
mkdir -p "$out/source"
sdk=$(cd "$sdk" && pwd)
out=$(cd "$out" && pwd)
tar -xzf "$archive" -C "$out/source" --strip-components=2 --wildcards \
    'package/lib/libcxx/src/*' 'package/lib/libcxxabi/src/*' 'package/lib/libunwind/*'
source=$out/source

# Left out: other systems, parallel algorithms, time zones, and what stands in for exceptions.
sources() {
    find "$source/libcxx/src" "$source/libcxxabi/src" -name '*.cpp' ! -path '*/support/*' \
        ! -path '*/experimental/*' ! -path '*/pstl/*' ! -name cxa_noexception.cpp
    find "$source/libunwind/src" -name 'libunwind.cpp' -o -name 'UnwindLevel1*.c' \
        -o -name 'UnwindRegisters*.S'
}

cat >"$source/compile.sh" <<'COMPILE'
set -eu
for file in "$@"; do
    case $file in
    */libunwind/*.cpp) flags="-std=c++23 -fno-exceptions -fno-rtti" ;;
    *.cpp) flags="-std=c++23 -D_LIBCPP_BUILDING_LIBRARY -D_LIBCXXABI_BUILDING_LIBRARY
                  -DLIBCXX_BUILDING_LIBCXXABI -DLIBCXXABI_USE_LLVM_UNWINDER" ;;
    *) flags= ;;
    esac
    object=$(printf '%s' "${file#"$SOURCE/"}" | tr / _).o
    # shellcheck disable=SC2086 # lists of flags
    clang++-19 -x "$(case $file in *.cpp) echo c++ ;; *.c) echo c ;; *) echo assembler-with-cpp ;; esac)" \
        -target "$ARCHITECTURE-apple-macos13.0" -isysroot "$SDK" -O0 -w -DNDEBUG $flags \
        -D_LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS -D_LIBCPP_DISABLE_AVAILABILITY \
        -I "$SOURCE/libcxx/src" -I "$SOURCE/libcxxabi/src" -I "$SOURCE/libunwind/include" \
        -c "$file" -o "$OBJECTS/$object"
done
COMPILE
for architecture in arm64 x86_64; do
    echo "libcxx: compiling $(sources | wc -l) files for $architecture"
    mkdir -p "$out/$architecture/objects"
    export ARCHITECTURE="$architecture" SDK="$sdk" SOURCE="$source" OBJECTS="$out/$architecture/objects"
    sources | xargs -n 8 -P "${METALRUN_JOBS:-2}" sh "$source/compile.sh"
    llvm-ar-19 rcs "$out/$architecture/libc++.a" "$out/$architecture/objects"/*.o
    rm -r "$out/$architecture/objects"
done
rm -r "$source"
echo "$recipe" >"$out/recipe"
echo "libcxx: $out ($(du -sm "$out" | cut -f1) MB)"
