// SPDX-License-Identifier: MIT
//
// What was in LD_PRELOAD before: kept, in order, without empty and repeated elements, behind the
// shim; known Metal shims leave it whatever the decision.
#include "harness.hpp"

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

struct Libraries {
    TempFolder folder;
    std::string one = folder.copy(target("libnoop.so"), "one.so");
    std::string two = folder.copy(target("libnoop.so"), "two.so");
    std::string three = folder.copy(target("libnoop.so"), "three.so");
};

Shown start(const TempFolder& folder, const std::string& inherited, Strings options = {}) {
    options.insert(options.end(), {"--children", "inherit", "--", target("show")});
    auto command = metalrun_command(options);
    command.environment.push_back("LD_PRELOAD=" + inherited);
    command.environment.emplace_back("AFTER=1");
    command.directory = folder.path();
    return run_show(folder, command);
}

std::string preload_of(const Shown& shown) {
    REQUIRE_MESSAGE(shown.report, shown.outcome.err);
    return value_of(shown.report->environment, "LD_PRELOAD").value_or("(absent)");
}

} // namespace

TEST_SUITE("exec.preload") {

    TEST_CASE("inherited elements stay in order behind the shim") {
        const Libraries lib;
        const auto& shim = programs().shim;
        const std::vector<std::pair<std::string, std::string>> table{
            {lib.one, shim + ":" + lib.one},
            {lib.two + ":" + lib.one, shim + ":" + lib.two + ":" + lib.one},
            {":" + lib.one, shim + ":" + lib.one},
            {lib.one + ":", shim + ":" + lib.one},
            {lib.one + "::" + lib.two, shim + ":" + lib.one + ":" + lib.two},
            {lib.one + ":" + lib.one, shim + ":" + lib.one},
            {lib.one + ":" + lib.two + ":" + lib.one + ":" + lib.three,
             shim + ":" + lib.one + ":" + lib.two + ":" + lib.three},
            {lib.one + " " + lib.two, shim + ":" + lib.one + ":" + lib.two},
            {"", shim},
            {":::", shim},
            {shim, shim},
            {shim + ":" + lib.one, shim + ":" + lib.one},
            {lib.one + ":" + shim + ":" + lib.two, shim + ":" + lib.one + ":" + lib.two},
            {"./one.so:" + lib.two, shim + ":" + lib.one + ":" + lib.two},
            {"./one.so:" + lib.one, shim + ":" + lib.one},
        };
        for (const auto& [inherited, expected] : table) {
            CAPTURE(std::string{inherited});
            const auto shown = start(lib.folder, inherited, {"--anywhere"});
            CHECK(preload_of(shown) == expected);
            CHECK(shown.report->has_library(shim));
        }
    }

    TEST_CASE("there is one LD_PRELOAD, and the other entries keep their order") {
        const Libraries lib;
        const auto shown = start(lib.folder, lib.one, {"--anywhere"});
        REQUIRE(shown.report);
        int count = 0;
        for (const auto& entry : shown.report->environment) {
            count += entry.starts_with("LD_PRELOAD=") ? 1 : 0;
        }
        CHECK(count == 1);
        CHECK(shown.report->has_library(lib.one));
        const auto others =
            without(shown.report->environment, {"LD_PRELOAD", "LUME_METAL_APPLE_FAMILY_MAX",
                                                "LUME_METAL_MAX_THREADGROUP_MEMORY",
                                                "METALRUN_SHIM_HOOK", "METALRUN_SHIM_CHILDREN"});
        CHECK(others == without(shown.given, {"LD_PRELOAD"}));
    }

    TEST_CASE("a relative element means the folder before -C") {
        const Libraries lib;
        const auto shown = start(lib.folder, "./one.so", {"--anywhere", "-C", "/"});
        CHECK(preload_of(shown) == programs().shim + ":" + lib.one);
        CHECK(shown.report->has_library(lib.one));
    }

    TEST_CASE("a bare name stays a bare name") {
        const Libraries lib;
        const auto shown = start(lib.folder, "libc.so.6:" + lib.one, {"--anywhere"});
        CHECK(preload_of(shown) == programs().shim + ":libc.so.6:" + lib.one);
    }

    TEST_CASE("a stock start is without our shim and with everything else") {
        const Libraries lib;
        const auto& shim = programs().shim;
        const auto copy = lib.folder.copy(shim, "renamed.so");
        const auto link = lib.folder.make_link(shim, "link.so");
        for (const auto& options : {Strings{"--stock", "-q"}, Strings{"-q"}}) {
            CAPTURE(std::string{options.front()});
            for (const auto& inherited : {shim, shim + ":" + shim, copy, link, copy + ":" + link}) {
                CAPTURE(std::string{inherited});
                const auto preload = preload_of(start(lib.folder, inherited, options));
                CHECK((preload == "(absent)" || preload.empty()));
            }
            for (const auto& inherited :
                 {shim + ":" + lib.one, lib.one + ":" + shim, copy + ":" + lib.one}) {
                CAPTURE(std::string{inherited});
                const auto shown = start(lib.folder, inherited, options);
                CHECK(preload_of(shown) == lib.one);
                CHECK(without(shown.report->environment, {"LD_PRELOAD"}) ==
                      without(shown.given, {"LD_PRELOAD"}));
            }
            CHECK(preload_of(start(lib.folder, lib.two + ":" + lib.one, options)) ==
                  lib.two + ":" + lib.one);
        }
    }

    TEST_CASE("a copy of our shim does not stay beside the chosen one") {
        const Libraries lib;
        const auto copy = lib.folder.copy(programs().shim, "renamed.so");
        const auto shown = start(lib.folder, copy + ":" + lib.one, {"--anywhere"});
        CHECK(preload_of(shown) == programs().shim + ":" + lib.one);
    }

    TEST_CASE(
        "the shim goes out of the target's environment but the rest stays, with stock children") {
        const Libraries lib;
        auto command =
            metalrun_command({"--anywhere", "--children", "stock", "--", target("show")});
        command.environment.push_back("LD_PRELOAD=" + lib.one + ":" + lib.two);
        const auto shown = run_show(lib.folder, command);
        REQUIRE(shown.report);
        CHECK(shown.report->environment == shown.given);
        CHECK(shown.report->has_library(programs().shim));
        CHECK(shown.report->has_library(lib.two));
    }

    TEST_CASE("wrapped twice is the same as once") {
        const Libraries lib;
        auto command =
            metalrun_command({"--anywhere", "--children", "inherit", "--", programs().metalrun,
                              "--anywhere", "--children", "inherit", "--", target("show")});
        command.environment.push_back("LD_PRELOAD=" + lib.one);
        const auto shown = run_show(lib.folder, command);
        // A statically linked launcher cannot take the shim itself: that is an answer too, but not
        // a start.
        if (!shown.report) {
            CHECK(shown.outcome.status() == 126);
            return;
        }
        CHECK(preload_of(shown) == programs().shim + ":" + lib.one);
    }

} // TEST_SUITE
