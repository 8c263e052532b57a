#!/bin/sh
# SPDX-License-Identifier: MIT
#
# verify_test.sh - verify.sh passes the cross-built shims, and names exactly what is wrong with
# copies of them that were changed in one way each. Status 77 without a cross build.
set -eu
cd "$(dirname "$0")/../.."
verify=$PWD/shim/verify.sh
checksums=$PWD/shim/checksums.cmake
sdk=$PWD/build/cross/sdk
thin=$PWD/build/macos-arm64/lib/metalrun/libmetalrun_shim.dylib
intel=$PWD/build/macos-x86_64/lib/metalrun/libmetalrun_shim.dylib
for file in "$thin" "$intel" "$sdk/usr/lib/libSystem.tbd"; do
    [ -e "$file" ] || {
        echo "$file is missing: run tests/cross/build.sh first" >&2
        if [ "${METALRUN_REQUIRE_MACOS:-0}" = 1 ]; then exit 1; else exit 77; fi
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
arm64="libmetalrun_shim.dylib, arm64"

# start NAME - a folder of its own with the arm64 shim; the copy is what the case changes.
start() {
    mkdir "$work/$1"
    cd "$work/$1"
    cp "$thin" libmetalrun_shim.dylib
    sum
}
sum() { cmake -D FOLDER="$PWD" -P "$checksums"; }

# expect STATUS [FAILED-CHECK...] - what verify.sh must say of this folder.
expect() {
    status=$1
    shift
    printf '%s\n' "$@" | grep . >"$work/expected" || true
    observed=0
    sh "$verify" "$PWD" >"$work/output" 2>&1 || observed=$?
    sed -n 's/^FAILED  \(.*\): expected .*/\1/p' "$work/output" >"$work/failed"
    if [ "$observed" = "$status" ] && cmp -s "$work/expected" "$work/failed"; then
        echo "ok      ${PWD##*/}"
    else
        bad=$((bad + 1))
        echo "FAILED  ${PWD##*/}: status $observed, expected $status with these checks failing:"
        cat "$work/expected"
        echo "--- verify.sh said"
        cat "$work/output"
    fi
}

# flip OFFSET [FILE] - changes one bit of the library.
flip() {
    file=${2:-libmetalrun_shim.dylib}
    byte=$(od -An -v -tu1 -j "$1" -N 1 "$file" | tr -d ' ')
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf '%03o' $((byte ^ 1)))" | dd of="$file" bs=1 seek="$1" conv=notrunc status=none
}

# find_bytes PATTERN FILE - offset of the first place.
find_bytes() { LC_ALL=C grep -abo -P "$1" "$2" | head -n 1 | cut -d: -f1; }

# link_other SOURCE [OPTION...] - another library in the shim's place, sums made anew.
link_other() {
    source=$1
    shift
    echo "$source" | clang-19 -target arm64-apple-macos13.0 -isysroot "$sdk" -x c -c -o other.o -
    clang-19 -target arm64-apple-macos13.0 -isysroot "$sdk" -fuse-ld=lld -dynamiclib other.o \
        -install_name @rpath/libmetalrun_shim.dylib -lobjc -framework Metal "$@" -o libmetalrun_shim.dylib
    sum
}
# The least that has all that a shim must have.
other='extern void *MTLCreateSystemDefaultDevice(void), *MTLCopyAllDevices(void);
    extern void *MTLCopyAllDevicesWithObserver(void*, void*);
    __attribute__((used, section("__DATA,__interpose"))) static void* pairs[] = {
        (void*)MTLCreateSystemDefaultDevice, (void*)MTLCopyAllDevices,
        (void*)MTLCopyAllDevicesWithObserver};
    __attribute__((used, section("__TEXT,__metalrun"))) static const char mark[] = "shim";'

start as-built
expect 0

start other-library
link_other "$other"
expect 0

start both-architectures
llvm-lipo-19 -create "$thin" "$intel" -output libmetalrun_shim_universal.dylib
sum
expect 0

start changed-byte
flip 9000
expect 1 "$arm64, page hashes" "libmetalrun_shim.dylib, in SHA256SUMS"

start changed-byte-and-sum
flip 9000
sum
expect 1 "$arm64, page hashes"

start wrong-sum
tr 0-8 1-9 <SHA256SUMS >new && mv new SHA256SUMS
expect 1 "libmetalrun_shim.dylib, in SHA256SUMS"

start no-sums
rm SHA256SUMS
expect 1 "libmetalrun_shim.dylib, in SHA256SUMS"

start missing-file
cp SHA256SUMS twice
sed 's/shim/shim_universal/' SHA256SUMS >>twice && mv twice SHA256SUMS
expect 1 "libmetalrun_shim_universal.dylib, in SHA256SUMS"

start missing-slice
mv libmetalrun_shim.dylib libmetalrun_shim_universal.dylib
sum
expect 1 "libmetalrun_shim_universal.dylib, slices"

start no-arm64e-by-another-linker
llvm-lipo-19 -create "$thin" "$intel" -output libmetalrun_shim_universal.dylib
build_version='\x01\0\0\0\0\0\x0d\0\0\0\x0d\0\x01\0\0\0\x04' # macOS, 13.0, 13.0, one tool, ld64.lld
flip $(($(find_bytes "$build_version" libmetalrun_shim_universal.dylib) + 16)) libmetalrun_shim_universal.dylib
sum
expect 1 "libmetalrun_shim_universal.dylib, x86_64, page hashes" "libmetalrun_shim_universal.dylib, slices"

start two-slices-in-a-thin-name
llvm-lipo-19 -create "$thin" "$intel" -output libmetalrun_shim.dylib
sum
expect 1 "libmetalrun_shim.dylib, slices"

start extra-dependency
link_other "$other" -Wl,-needed-lc++
expect 1 "$arm64, linked"

start run-path
link_other "$other" -Wl,-rpath,/usr/local/lib
expect 1 "$arm64, run paths"

start other-name
link_other "$other" -install_name @rpath/libother.dylib
expect 1 "$arm64, install name"

start newer-system
link_other "$other" -Wl,-platform_version,macos,14.0,14.0
expect 1 "$arm64, oldest system"

start bundle
link_other "$other"
clang-19 -target arm64-apple-macos13.0 -isysroot "$sdk" -fuse-ld=lld -bundle other.o -lobjc \
    -framework Metal -o libmetalrun_shim.dylib
sum
expect 1 "$arm64, file type" "$arm64, install name"

start exported-symbol
link_other "$other int answer(void) { return 42; }"
expect 1 "$arm64, exported symbols"

start clock
link_other "$other extern int clock_gettime(int, void*);
    __attribute__((constructor)) static void now(void) { clock_gettime(0, 0); }"
expect 1 "$arm64, imports that are not listed" "$arm64, clocks"

start network
link_other "$other extern int socket(int, int, int), getaddrinfo(void*, void*, void*, void*);
    __attribute__((constructor)) static void call(void) { socket(2, 1, 0); getaddrinfo(0, 0, 0, 0); }"
expect 1 "$arm64, imports that are not listed" "$arm64, network"

start files-and-processes
link_other "$other extern int unlink(const char*), fork(void); extern void* malloc(unsigned long);
    __attribute__((constructor)) static void f(void) { unlink(0); fork(); *(volatile char*)malloc(9) = 0; }"
expect 1 "$arm64, imports that are not listed" "$arm64, processes, threads and exits" "$arm64, heap" \
    "$arm64, files, but for open, fstat, write, close and stat"

start mesh
link_other "$other __attribute__((used)) static const char mesh[] = \"newRenderPipelineStateWithMeshDescriptor:\";"
expect 1 "$arm64, texts of meshes and of the network"

start nothing-of-a-shim
link_other "int nothing;" -Wl,-exported_symbols_list,/dev/null
expect 1 "$arm64, section" "$arm64, section" "$arm64, imports of Metal"

start unsigned
link_other "$other" -Wl,-no_adhoc_codesign
expect 1 "$arm64, signature"

start hardened
directory=$(find_bytes '\xfa\xde\x0c\x02' libmetalrun_shim.dylib)
flip $((directory + 13)) # flag 0x10000: hardened runtime
sum
expect 1 "$arm64, signature"

start garbage
echo "no library" >libmetalrun_shim.dylib
sum
expect 1 "libmetalrun_shim.dylib, slices"

start cut-off
head -c 30000 "$thin" >libmetalrun_shim.dylib
sum
expect 1 "libmetalrun_shim.dylib, slices"

start empty-folder
rm libmetalrun_shim.dylib
expect 125

start no-tools
mkdir tools
for tool in sh dirname mktemp rm uname; do
    ln -s "$(command -v $tool)" tools/$tool
done
observed=0
PATH=$PWD/tools sh "$verify" "$PWD" >/dev/null 2>&1 || observed=$?
if [ $observed = 125 ]; then
    echo "ok      no-tools"
else
    bad=$((bad + 1))
    echo "FAILED  no-tools: status $observed, expected 125"
fi

# On a Mac the tools have other names, and codesign has a say. Its answer is played here.
mkdir "$work/tools"
for tool in lipo otool nm; do
    ln -s "$(command -v llvm-$tool-19)" "$work/tools/$tool"
done
printf '#!/bin/sh\necho Darwin\n' >"$work/tools/uname"
printf '#!/bin/sh\n[ ! -e refused ] || { echo "code or signature have been modified"; exit 3; }\n' \
    >"$work/tools/codesign"
chmod +x "$work/tools/uname" "$work/tools/codesign"
PATH=$work/tools:$PATH

start names-of-a-mac
expect 0

start refused-by-codesign
touch refused
expect 1 "$arm64, codesign --verify --strict"

[ $bad -eq 0 ]
