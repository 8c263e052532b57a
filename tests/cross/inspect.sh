#!/bin/sh
# SPDX-License-Identifier: MIT
#
# inspect.sh - looks at what build.sh made: the programs here, with LLVM's tools (slices, what is
# linked, oldest macOS, signature), the shims by shim/verify.sh. One line a check; status 1 if any
# failed.
set -eu
cd "$(dirname "$0")/../.."
passed=0
failed=0

# check WHAT EXPECTED OBSERVED
check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "ok      $1: $2"
    else
        failed=$((failed + 1))
        echo "FAILED  $1: expected '$2', found '$3'"
    fi
}

# The rest looks at a file of one slice.

one_line() { tr '\n' ' ' | sed 's/  */ /g; s/^ //; s/ $//'; }
commands() { llvm-otool-19 -l "$1"; }
file_type() { llvm-otool-19 -hv "$1" | awk '/MH_MAGIC_64/ {print $5}'; }
linked() { llvm-objdump-19 --macho --dylibs-used "$1" | awk 'NR > 1 {print $1}' | grep -v '^@rpath/' | LC_ALL=C sort | one_line; }
oldest_system() { commands "$1" | awk '$1 == "platform" {p = $2} $1 == "minos" {print (p == 1 || p == "macos" ? "macOS" : p) " " $2}'; }
sections() { commands "$1" | awk '$1 == "sectname" {s = $2} $1 == "segname" && s != "" {print $2 "," s; s = ""}'; }
has_section() { if sections "$1" | grep -qx "$2"; then echo present; else echo absent; fi; }
rpaths() { commands "$1" | grep -c LC_RPATH || true; }

# The big-endian word at an offset.
word() { od -An -v -tx1 -j "$2" -N 4 "$1" | tr -d ' \n'; }

# What the kernel reads of a signature (cs_blobs.h): a super blob whose first blob is the code
# directory, with its flags as the fourth word.
signature() {
    start=$(commands "$1" | awk '$2 == "LC_CODE_SIGNATURE" {here = 1} here && $1 == "dataoff" {print $2; exit}')
    [ -n "$start" ] || { echo "none"; return; }
    [ "$(word "$1" "$start")" = fade0cc0 ] || { echo "no super blob"; return; }
    directory=$((start + 0x$(word "$1" $((start + 16)))))
    [ "$(word "$1" $directory)" = fade0c02 ] || { echo "no code directory"; return; }
    if [ $((0x$(word "$1" $((directory + 12))) & 2)) -ne 0 ]; then echo "ad hoc"; else echo "not ad hoc"; fi
}

system=/usr/lib/libSystem.B.dylib
cxx=/usr/lib/libc++.1.dylib
objc=/usr/lib/libobjc.A.dylib
metal=/System/Library/Frameworks/Metal.framework/Versions/A/Metal

inspect_program() { # NAME FILE LINKED
    check "$1, file type" EXECUTE "$(file_type "$2")"
    check "$1, linked" "$3" "$(linked "$2")"
    check "$1, oldest system" "macOS 13.0" "$(oldest_system "$2")"
    check "$1, signature" "ad hoc" "$(signature "$2")"
    check "$1, run paths" 0 "$(rpaths "$2")"
}

for architecture in arm64 x86_64; do
    tree=build/macos-$architecture
    for file in bin/metalrun libexec/metalrun/metalrun-probe; do
        name="$architecture $(basename $file)"
        if [ ! -f $tree/$file ]; then
            check "$name" built missing
            continue
        fi
        check "$name, slices" $architecture "$(llvm-lipo-19 -archs $tree/$file | one_line)"
        case $file in
        bin/*)
            inspect_program "$name" $tree/$file "$system $cxx"
            check "$name, section __TEXT,__metalrun" present "$(has_section $tree/$file __TEXT,__metalrun)"
            # A system that lacks it must start metalrun all the same.
            check "$name, import of csr_get_active_config" weak \
                "$(llvm-nm-19 -m $tree/$file | sed -n 's/.*(undefined) \(weak\) external _csr_get_active_config.*/\1/p')"
            ;;
        libexec/*) inspect_program "$name" $tree/$file "$metal $system $cxx $objc" ;;
        esac
    done
done

echo "$passed passed, $failed failed"
shims=0
shim/verify.sh build/macos-arm64/lib/metalrun build/macos-x86_64/lib/metalrun \
    build/macos-universal/lib/metalrun || shims=$?
[ $failed -eq 0 ] && [ $shims -eq 0 ]
