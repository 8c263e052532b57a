// SPDX-License-Identifier: MIT
//
// The whole chain with the simulated device: what the target's Metal answers, stock and with the
// shim, and what its children get.
#include "harness.hpp"

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

/// The report of `show`, started by `then` in the given manner behind metalrun.
Shown start_child(const TempFolder& folder, const std::string& children,
                  const std::string& manner) {
    auto command = metalrun_command(
        {"--anywhere", "--children", children, "--", target("then"), manner, target("show")});
    command.environment.emplace_back("AFTER=1");
    return run_show(folder, command);
}

} // namespace

TEST_SUITE("exec.shim_effect") {

    TEST_CASE("with stock children, what the target starts or becomes is stock") {
        const TempFolder folder;
        for (const auto* manner : {"exec", "spawn"}) {
            CAPTURE(std::string{manner});
            const auto shown = start_child(folder, "stock", manner);
            REQUIRE(shown.report);
            CHECK_FALSE(shown.report->has_library(programs().shim));
            CHECK(shown.report->environment == shown.given);
        }
    }

    TEST_CASE("with inheriting children, what the target starts or becomes has the shim") {
        const TempFolder folder;
        for (const auto* children : {"inherit", "inherit-if-safe"}) {
            for (const auto* manner : {"exec", "spawn"}) {
                CAPTURE(std::string{children});
                CAPTURE(std::string{manner});
                const auto shown = start_child(folder, children, manner);
                REQUIRE(shown.report);
                CHECK(shown.report->has_library(programs().shim));
                CHECK(value_of(shown.report->environment, "LUME_METAL_APPLE_FAMILY_MAX") == "1007");
            }
        }
    }

} // TEST_SUITE
