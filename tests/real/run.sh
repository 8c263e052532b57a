#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh METALRUN FOLDER - real macOS files from npm packages against expected verdicts (open.tsv and
# further.tsv). Fetches the pinned packages into FOLDER (kept for the next run), checks each file's
# SHA-256, and compares what `metalrun check` says for a macOS 15.5 guest. Where python3 is, an
# independent reader (oracle.py) must say the same, fact by fact, and the doubt of a soft row must be
# named by a finding. Without npm or the registry the files are skipped and counted, unless
# METALRUN_REQUIRE_REAL=1. No install script of a package ever runs.
set -u
metalrun=${1:?usage: run.sh METALRUN FOLDER}
folder=${2:?usage: run.sh METALRUN FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
facts=$here/macos-15.5.toml

# The words of the tables in metalrun's (DESIGN: decision and reason); agree.py has the same map.
answer_of() {
    case $1 in
    ok) echo "inject null" ;;
    not-macho) echo "refuse not-a-program" ;;
    wrong-arch) echo "refuse wrong-architecture" ;;
    unsigned-on-arm64) echo "refuse unsigned" ;;
    hardened-runtime-no-dyld-env) echo "refuse hardened-runtime" ;;
    *) echo "refuse $1" ;;
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

# The file of PATH in folder DIR; ARCHIVE!MEMBER is a member of a tar archive, which is
# extracted on first use.
real_file() {
    local archive=$1/${2%%!*} member=${2#*!}
    if [ "$2" != "$member" ] && [ ! -e "$archive.d/$member" ]; then
        mkdir -p "$archive.d"
        tar -xf "$archive" -C "$archive.d" --no-same-owner --warning=no-unknown-keyword || return 1
    fi
    [ "$2" = "$member" ] && echo "$archive" || echo "$archive.d/$member"
}

# judge FILE VERDICT REASON FIRM - prints what is wrong, or nothing.
judge() {
    if command -v python3 >/dev/null; then
        python3 -B "$here/agree.py" "$metalrun" "$facts" --expect "$2" "$3" "$4" "$1" 2>&1
        return
    fi
    local json seen
    json=$("$metalrun" check --json --verify --host-facts "$facts" -- "$1")
    seen=$(sed -n 's/.*"decision": "\([a-z]*\)".*/\1/p' <<<"$json" | head -n 1)
    seen+=" $(sed -n 's/.*"reason": "\{0,1\}\([a-z0-9-]*\).*/\1/p' <<<"$json" | head -n 1)"
    [ "$seen" = "$(answer_of "$3")" ] || echo "expected $(answer_of "$3"), metalrun says $seen"
}

passed=0 failed=0 skipped=0
while IFS=$'\t' read -r id _ package version path sha256 _ _ _ _ verdict reason firm _; do
    dir=$(package_folder "$package@$version")
    file=$([ -z "$dir" ] || real_file "$dir" "$path")
    if [ -z "$file" ]; then
        echo "$id: skipped, $package@$version cannot be had here"
        skipped=$((skipped + 1))
        continue
    fi
    if [ "$(sha256sum <"$file" | cut -d' ' -f1)" != "$sha256" ]; then
        echo "$id: FAILED, $path has another SHA-256"
        failed=$((failed + 1))
        continue
    fi
    wrong=$(judge "$file" "$verdict" "$reason" "$firm")
    if [ -z "$wrong" ]; then
        echo "$id: $package $path: $verdict ($reason)"
        passed=$((passed + 1))
    else
        echo "$id: FAILED, $wrong"
        failed=$((failed + 1))
    fi
done < <(sed -s 1d "$here"/open.tsv "$here"/further.tsv)
[ "$skipped" -eq 0 ] || [ "${METALRUN_REQUIRE_REAL:-0}" != 1 ] || failed=$((failed + skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77
