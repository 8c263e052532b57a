#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tidy.sh - clang-tidy 19 over the sources: the quick checks on every file, the analyzer and the cert
# checks too on the rooms that read foreign bytes, decide, or live in other people's processes.
set -eu
cd "$(dirname "$0")/.."
jobs=$(getconf _NPROCESSORS_ONLN)
cmake --preset tidy >/dev/null
# Generated sources must exist before they can be read.
cmake --build --preset tidy -j "$jobs" --target metalrun_profile
full='launcher/(macho|elf|judge)/|^shim/'
files=$(git ls-files 'launcher/*.cpp' 'shim/*.cpp' | grep -vE '^launcher/system/(digest_)?darwin')
check() { xargs -r -P "$jobs" -n 2 clang-tidy-19 -p build/tidy --quiet "$@" 2>/dev/null; }
grep -vE "$full" <<<"$files" | check '--checks=-clang-analyzer-*,-cert-*'
grep -E "$full" <<<"$files" | check
echo "clang-tidy: $(wc -l <<<"$files") files clean"
