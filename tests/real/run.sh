#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh METALRUN FOLDER - real macOS files from npm packages against expected verdicts (open.tsv). Fetches the
# pinned packages into FOLDER (kept for the next run), checks each file's SHA-256, and compares what
# `metalrun check` says for a macOS 15.5 guest. Without npm or the registry the files are skipped and
# counted, unless METALRUN_REQUIRE_REAL=1. No install script of a package ever runs.
set -u
metalrun=${1:?usage: run.sh METALRUN FOLDER}
folder=${2:?usage: run.sh METALRUN FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# The words of open.tsv in metalrun's (DESIGN: decision and reason).
reason_of() {
    case $1 in
    ok) echo null ;;
    not-macho) echo not-a-program ;;
    wrong-arch) echo wrong-architecture ;;
    unsigned-on-arm64) echo unsigned ;;
    hardened-runtime-no-dyld-env) echo hardened-runtime ;;
    *) echo "$1" ;;
    esac
}

# Unpacks PACKAGE@VERSION into a folder of its own; prints the folder, or nothing.
package_folder() {
    local spec=$1 key
    key=$(printf %s "$spec" | tr '/@' '__')
    if [ ! -e "$folder/$key/.complete" ]; then
        command -v npm >/dev/null || return 1
        rm -rf "${folder:?}/$key"
        mkdir -p "$folder/$key"
        (cd "$folder/$key" && npm pack "$spec" --silent --ignore-scripts >/dev/null 2>&1 &&
            tar -xzf ./*.tgz --no-same-owner && rm -f ./*.tgz && touch .complete) || return 1
    fi
    echo "$folder/$key"
}

passed=0 failed=0 skipped=0
while IFS=$'\t' read -r id _ package version path sha256 _ _ _ _ verdict reason _; do
    [ "$id" != id ] || continue
    dir=$(package_folder "$package@$version")
    if [ -z "$dir" ]; then
        echo "$id: skipped, $package@$version cannot be had here"
        skipped=$((skipped + 1))
        continue
    fi
    if [ "$(sha256sum <"$dir/$path" | cut -d' ' -f1)" != "$sha256" ]; then
        echo "$id: FAILED, $path has another SHA-256"
        failed=$((failed + 1))
        continue
    fi
    decision=inject
    [ "$verdict" = allowed ] || decision=refuse
    json=$("$metalrun" check --json --verify --host-facts "$here/macos-15.5.toml" -- "$dir/$path")
    seen_decision=$(sed -n 's/.*"decision": "\([a-z]*\)".*/\1/p' <<<"$json" | head -n 1)
    seen_reason=$(sed -n 's/.*"reason": "\{0,1\}\([a-z0-9-]*\).*/\1/p' <<<"$json" | head -n 1)
    if [ "$seen_decision $seen_reason" = "$decision $(reason_of "$reason")" ]; then
        echo "$id: $package $path: $seen_decision ($seen_reason)"
        passed=$((passed + 1))
    else
        echo "$id: FAILED, $package $path: expected $decision ($(reason_of "$reason")), seen $seen_decision ($seen_reason)"
        failed=$((failed + 1))
    fi
done <"$here/open.tsv"
[ "$skipped" -eq 0 ] || [ "${METALRUN_REQUIRE_REAL:-0}" != 1 ] || failed=$((failed + skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77
