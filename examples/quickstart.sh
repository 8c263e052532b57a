#!/bin/sh
# SPDX-License-Identifier: MIT
#
# quickstart.sh - from a fresh checkout to the first success: installs what the build needs, builds
# the release, and runs the main job on a stand-in workload, stock and with the shim. On Linux the
# Metal device is simulated. Leaves nothing outside the checkout but packages; can be run again.
set -eu
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

say "1. packages for the build"
sh examples/packages.sh build

say "2. release build in build/release (a minute or two)"
# A checkout that was moved has another path in its cache: CMake must begin anew.
cmake --preset release --fresh >build-quickstart.log 2>&1 || { cat build-quickstart.log; exit 1; }
rm -f build-quickstart.log
cmake --build --preset release --target metalrun metalrun_shim metalrun-probe metalrun-standin-ggml |
    tail -n 1

metalrun=$PWD/build/release/bin/metalrun
standin=$PWD/build/release/tests/metalrun-standin-ggml
# Receipts stay in the checkout, too.
export METALRUN_STATE_DIR="$PWD/build/release/state"
mkdir -p "$METALRUN_STATE_DIR" && chmod 700 "$METALRUN_STATE_DIR"

say "3. what the device answers, stock and with the shim (simulated device)"
for profile in llama.cpp published; do
    LD_PRELOAD=$PWD/build/release/tests/libsimmetal.so "$metalrun" --anywhere probe -p "$profile"
done

say "4. the main job: metalrun --anywhere -- STANDIN (a stand-in for llama-bench, not llama.cpp)"
run() {
    label=$1
    shift
    out=$("$metalrun" "$@" -- "$standin" -o json 2>build/release/standin.log)
    grep -E 'GPU family: +MTLGPUFamilyApple|simdgroup matrix' build/release/standin.log | head -n 2 |
        sed 's/^/      /'
    echo "$out" | awk -v label="$label" '
        /"n_prompt"/ { gsub(/[^0-9]/, ""); prompt = $0 }
        /"n_gen"/    { gsub(/[^0-9]/, ""); gen = $0 }
        /"avg_ts"/   { gsub(/[^0-9.]/, ""); printf "   %-12s %-6s %10.1f tokens/s\n", label,
                       (prompt > 0 ? "pp" prompt : "tg" gen), $0 }'
}
echo "   stock:";     run stock --stock --quiet
echo "   llama.cpp:"; run llama.cpp --anywhere -p llama.cpp
echo "   published:"; run published --anywhere -p published

say "done"
echo "metalrun is build/release/bin/metalrun; 'metalrun --help' and man/metalrun.1 explain it."
echo "These figures come from a simulated device and a stand-in: they show the mechanism, not a GPU."
