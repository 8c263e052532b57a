#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fixtures.sh METALRUN FOLDER - what metalrun and the independent reader (oracle.py) say of every
# fixture: decision, reason, code directory hash, identifiers, flags, entitlements and page counts are
# the same, except for choices.tsv. Skipped where python3 or the fixtures are not, unless
# METALRUN_REQUIRE_REAL=1.
set -u
metalrun=${1:?usage: fixtures.sh METALRUN FOLDER}
folder=${2:?usage: fixtures.sh METALRUN FOLDER}
here=$(cd "$(dirname "$0")" && pwd)

skip() {
    echo "skipped: $1"
    [ "${METALRUN_REQUIRE_REAL:-0}" != 1 ] || exit 1
    exit 77
}

command -v python3 >/dev/null || skip "python3 is not here. Debian: apt-get install python3"
files=()
for file in "$folder"/*; do
    [ -f "$file" ] && [ "${file%.headers}" = "$file" ] && files+=("$file")
done
[ ${#files[@]} -gt 0 ] || skip "no fixtures in $folder (target metalrun_fixtures)"
python3 -B "$here/agree.py" "$metalrun" "$here/macos-15.5.toml" --except "$here/choices.tsv" "${files[@]}" || exit 1
echo "${#files[@]} passed, 0 failed"
