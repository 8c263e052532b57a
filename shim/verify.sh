#!/bin/sh
# SPDX-License-Identifier: MIT
#
# verify.sh FOLDER|FILE... - checks built shims for macOS (in a folder: libmetalrun_shim*.dylib),
# with Apple's tools on a Mac and LLVM's elsewhere: slices, signature, install name, oldest system,
# what they link and import (imports.txt beside this script), and SHA256SUMS beside them. One line
# a check; status 1 if one failed, 125 if it could not be made.
set -eu
export LC_ALL=C
finished=""
status=0
scratch=$(mktemp -d) || exit 125
trap 'status=$?; rm -rf "$scratch"; [ -n "$finished" ] || status=125; exit $status' EXIT
trap 'exit 125' HUP INT TERM
here=$(cd "$(dirname "$0")" && pwd)
passed=0
failed=0

die() {
    echo "verify: $*" >&2
    exit 125
}

# find_tool NAME... - the first that is here.
find_tool() {
    for name; do
        if command -v "$name"; then
            return
        fi
    done
    die "none of these tools was found: $*"
}

[ $# -gt 0 ] || die "usage: verify.sh FOLDER|FILE..."
if [ "$(uname)" = Darwin ]; then
    lipo=$(find_tool lipo)
    otool=$(find_tool otool)
    nm=$(find_tool nm)
    codesign=$(find_tool codesign)
else
    lipo=$(find_tool llvm-lipo-19 llvm-lipo)
    otool=$(find_tool llvm-otool-19 llvm-otool)
    nm=$(find_tool llvm-nm-19 llvm-nm)
    codesign=""
fi
sha256=$(find_tool sha256sum shasum)
[ "${sha256##*/}" = sha256sum ] || sha256="$sha256 -a 256"
[ -r "$here/imports.txt" ] || die "$here/imports.txt cannot be read"
sed '/^#/d; /^$/d' "$here/imports.txt" | sort >"$scratch/allowed"

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

one_line() { tr '\n' ' ' | sed 's/  */ /g; s/^ //; s/ $//'; }
sorted_line() { sort | one_line; }
or_none() { sed 's/^$/none/' | grep . || echo none; }
hashes() { $sha256 "$@" | cut -c 1-64; }

# --- one slice, in a file of its own: $scratch/slice; its load commands as text: $scratch/commands

# command_field COMMANDS FIELD - that field of each load command whose name matches.
command_field() {
    awk -v commands="^($1)\$" -v field="$2" \
        '$1 == "cmd" {here = $2 ~ commands} here && $1 == field {print $2}' "$scratch/commands"
}
# dyld looks for __interpose in both.
sections() {
    awk '$1 == "sectname" {s = $2} $1 == "segname" && s != "" {print $2 "," s; s = ""}' \
        "$scratch/commands" | sed 's/^__DATA_CONST,__interpose$/__DATA,__interpose/'
}
oldest_system() {
    echo "$(command_field LC_BUILD_VERSION platform) $(command_field LC_BUILD_VERSION minos)" |
        sed -E 's/^(1|macos|MACOS) /macOS /'
}

# The big-endian number at an offset.
word() { echo $((0x$(od -An -v -tx1 -j "$1" -N 4 "$scratch/slice" | tr -d ' \n'))); }

# find_code_directory - sets code_directory to its offset, 0 without one. The kernel wants it as the
# first blob of the super blob (cs_blobs.h).
find_code_directory() {
    code_directory=0
    signature=$(command_field LC_CODE_SIGNATURE dataoff)
    size=$(wc -c <"$scratch/slice")
    if [ -n "$signature" ] && [ "$signature" -le $((size - 64)) ] &&
        [ "$(word "$signature")" = $((0xfade0cc0)) ]; then
        offset=$(word $((signature + 16)))
        if [ $((signature + offset)) -le $((size - 44)) ] &&
            [ "$(word $((signature + offset)))" = $((0xfade0c02)) ]; then
            code_directory=$((signature + offset))
        fi
    fi
}

# Ad hoc, by codesign or the linker, without a flag that makes the system stricter.
signature_flags() {
    flags=$(word $((code_directory + 12)))
    if [ $((flags & ~0x20000)) -eq 2 ]; then
        echo "ad hoc"
    else
        printf 'flags %#x\n' "$flags"
    fi
}

# Every page of the slice up to the signature is hashed anew.
page_hashes() {
    kind=$(word $((code_directory + 36))) # size and type of a hash, platform, page size as a power
    shift=$((kind & 0xff))
    if [ $((kind >> 16)) -ne $((0x2002)) ] || { [ $shift -ne 12 ] && [ $shift -ne 14 ]; }; then
        printf 'hashes of kind %#x\n' "$kind"
        return
    fi
    page=$((1 << shift))
    slots=$(word $((code_directory + 28)))
    if [ "$(word $((code_directory + 32)))" -ne "$signature" ] ||
        [ "$slots" -ne $(((signature + page - 1) / page)) ]; then
        echo "other bytes are hashed than those before the signature"
        return
    fi
    rm -f "$scratch"/page.*
    head -c "$signature" "$scratch/slice" | split -a 4 -b $page - "$scratch/page."
    hashes "$scratch"/page.* >"$scratch/computed"
    od -An -v -tx1 -j $((code_directory + $(word $((code_directory + 16))))) -N $((slots * 32)) \
        "$scratch/slice" | tr -d ' \n' | fold -w 64 >"$scratch/signed"
    echo >>"$scratch/signed"
    bad=$(paste "$scratch/computed" "$scratch/signed" | awk '$1 != $2 {print NR - 1}' | one_line)
    if [ -n "$bad" ]; then echo "bad pages: $bad"; else echo right; fi
}

check_signature() { # WHAT
    find_code_directory
    if [ "$code_directory" -eq 0 ]; then
        check "$1, signature" "ad hoc" none
        return
    fi
    check "$1, signature" "ad hoc" "$(signature_flags)"
    check "$1, page hashes" right "$(page_hashes)"
    if [ -n "$codesign" ]; then
        opinion=$("$codesign" --verify --strict "$scratch/slice" 2>&1) && opinion=valid
        check "$1, codesign --verify --strict" valid "$opinion"
    fi
}

# imports_like PATTERN [ALLOWED] - imports that match the one and not the other, both whole names.
imports_like() { grep -xE "$1" "$scratch/imports" | grep -vxE "${2:-none}" | one_line | or_none; }

clocks='clock.*|mach_(absolute|approximate|continuous|timebase|get_times|wait).*|(get|set|adj)?times?(ofday)?'
clocks="$clocks|(local|gm|strf|mk)time.*|u?sleep|nanosleep|[gs]etitimer|u?alarm|ntp_.*|CF(AbsoluteTime|Date).*"
network='socket.*|connectx?|bind|listen|accept|(send|recv)(to|from|msg|file|msg_x)?|shutdown|getaddrinfo.*'
network="$network|get(host|serv|proto|net|name|ifaddr).*|if_.*|res_.*|DNSService.*|nw_.*|xpc_.*|bootstrap_.*"
network="$network|(CF(Network|Socket|Stream|HTTP|FTP|URL|Host)|SC(Network|Dynamic)|NSURL).*|OBJC_CLASS.*"
processes='v?fork|exec.*|posix_spawn.*|system|popen|pthread_create.*|dispatch_.*|kill|raise|abort|_*exit|exit_.*'
heap='(m|c|re|v)alloc|reallocf|aligned_alloc|posix_memalign|free|malloc_.*|mmap|(mach_)?vm_.*|_Z(nw|na|dl|da).*'
files='f?open.*|freopen|fdopen.*|creat|close.*|p?readv?|p?writev?|[fl]?stat.*|fstatat|f?access.*|unlink.*|remove'
files="$files|rename.*|(sym)?link.*|readlink.*|(mk|rm)dir.*|mkfifo.*|mknod.*|(open|read|scan)dir.*|l?f?ch(mod|own|dir).*"
files="$files|f?truncate|mk[ds]temp.*|tmpfile|realpath.*|getcwd|glob|n?ftw|fts_.*|f(read|write|put|print|close|flush).*"
files="$files|fcntl|ioctl|dup2?|flock|lockf|f?sync|f?(get|set)(attrlist|xattr).*|removexattr|copyfile|clonefile.*"

check_imports() { # WHAT
    # shellcheck disable=SC2016 # a dollar of the symbol's name
    "$nm" -u -j "$scratch/slice" 2>/dev/null | sed 's/^_//; s/\$INODE64$//' | sort -u >"$scratch/imports"
    # Without its symbols the rest would say nothing.
    check "$1, imports of Metal" "MTLCopyAllDevices MTLCopyAllDevicesWithObserver MTLCreateSystemDefaultDevice" \
        "$(grep '^MTL' "$scratch/imports" | one_line)"
    check "$1, imports that are not listed" none "$(comm -23 "$scratch/imports" "$scratch/allowed" | one_line | or_none)"
    check "$1, clocks" none "$(imports_like "$clocks")"
    check "$1, network" none "$(imports_like "$network")"
    check "$1, processes, threads and exits" none "$(imports_like "$processes")"
    check "$1, heap" none "$(imports_like "$heap")"
    # stat: whether a library in the list of those to insert is this one.
    check "$1, files, but for open, fstat, write, close and stat" none \
        "$(imports_like "$files" 'open|fstat|write|close|stat')"
    # Selectors and names to look up are text.
    check "$1, texts of meshes and of the network" none \
        "$(tr -c '[:print:]' '\n' <"$scratch/slice" | grep -oE '[A-Za-z:]*([Mm]esh|NSURL|CFNetwork|https?:|NWConn)[A-Za-z:]*' | sorted_line | or_none)"
}

system=/usr/lib/libSystem.B.dylib
objc=/usr/lib/libobjc.A.dylib
metal=/System/Library/Frameworks/Metal.framework/Versions/A/Metal

check_slice() { # WHAT
    "$otool" -l "$scratch/slice" >"$scratch/commands" 2>/dev/null || true
    check "$1, file type" "6 (dylib)" "$("$otool" -h "$scratch/slice" 2>/dev/null | awk '$1 == "0xfeedfacf" {print $5 ($5 == 6 ? " (dylib)" : "")}')"
    check "$1, install name" @rpath/libmetalrun_shim.dylib "$(command_field LC_ID_DYLIB name)"
    check "$1, oldest system" "macOS 13.0" "$(oldest_system)"
    check "$1, linked" "$metal $system $objc" "$(command_field 'LC_(LOAD|REEXPORT|LAZY_LOAD).*_DYLIB' name | sorted_line)"
    check "$1, run paths" none "$(command_field LC_RPATH path | one_line | or_none)"
    for section in __DATA,__interpose __TEXT,__metalrun; do
        check "$1, section" $section "$(sections | grep -x $section || echo none)"
    done
    check "$1, exported symbols" none "$("$nm" -g -U -j "$scratch/slice" 2>/dev/null | one_line | or_none)"
    check_imports "$1"
    check_signature "$1"
}

# --- files

# ld64.lld (tool 4 of a build version, loader.h) writes no true arm64e slice; Apple's linker must.
is_made_by_lld() { command_field LC_BUILD_VERSION tool | one_line | grep -qxE '4|LLD'; }

check_slices() { # WHAT FILE
    slices=$("$lipo" -archs "$2" 2>/dev/null | tr ' ' '\n' | sorted_line)
    case $2 in
    *_universal.dylib) expected="arm64 arm64e x86_64" ;;
    *) if [ "$slices" = x86_64 ]; then expected=x86_64; else expected=arm64; fi ;;
    esac
    every_lld=yes
    for architecture in $slices; do
        if [ "$slices" = "$architecture" ]; then
            cp "$2" "$scratch/slice"
        else
            "$lipo" "$2" -thin "$architecture" -output "$scratch/slice"
        fi
        check_slice "$1, $architecture"
        is_made_by_lld || every_lld=no
    done
    if [ "$expected" = "arm64 arm64e x86_64" ] && [ $every_lld = yes ]; then
        expected="arm64 x86_64"
    fi
    check "$1, slices" "$expected" "$slices"
}

check_file() { # FILE
    name=$(basename "$1")
    [ -r "$1" ] || die "$1 cannot be read"
    check_slices "$name" "$1"
    listed=none
    sums=$(dirname "$1")/SHA256SUMS
    if [ -f "$sums" ]; then
        listed=$(awk -v name="$name" '{sub(/^\*/, "", $2)} $2 == name {print $1}' "$sums" | one_line | or_none)
    fi
    check "$name, in SHA256SUMS" "$(hashes "$1")" "$listed"
}

check_folder() { # FOLDER
    found=""
    for library in "$1"/libmetalrun_shim*.dylib; do
        if [ -f "$library" ]; then
            found=yes
            check_file "$library"
        fi
    done
    [ -n "$found" ] || die "$1 has no libmetalrun_shim*.dylib"
    [ ! -f "$1/SHA256SUMS" ] || awk '{sub(/^\*/, "", $2); print $2}' "$1/SHA256SUMS" >"$scratch/names"
    while read -r name; do
        [ -f "$1/$name" ] || check "$name, in SHA256SUMS" present missing
    done <"$scratch/names"
}

: >"$scratch/names"
for argument; do
    [ -e "$argument" ] || die "$argument does not exist"
    if [ -d "$argument" ]; then check_folder "$argument"; else check_file "$argument"; fi
done
echo "$passed passed, $failed failed"
finished=yes
[ $failed -eq 0 ]
