#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh [PRESET] - installs what the tests need, builds (preset release unless another is named) and
# runs every test. Leaves nothing outside the checkout but packages; can be run again.
set -eu
cd "$(dirname "$0")/.."
preset=${1:-release}
jobs=$(getconf _NPROCESSORS_ONLN)

echo "== packages for the tests"
sh examples/packages.sh test
echo "== build: $preset"
cmake --preset "$preset"
cmake --build --preset "$preset" -j "$jobs"
echo "== tests: $preset"
ctest --preset "$preset" -j "$jobs"
