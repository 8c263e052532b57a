// SPDX-License-Identifier: MIT
//
// doctest's implementation and main(), compiled once for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
