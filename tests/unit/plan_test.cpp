// SPDX-License-Identifier: MIT
#include "launch/plan.hpp"

#include <doctest/doctest.h>

using namespace metalrun;

namespace {

profile::Profile profile_at(std::uint16_t ceiling) {
    profile::Profile chosen{.name = "p", .origin = "built-in"};
    chosen.metal.apple_family = profile::Family{profile::Family::Kind::ceiling, ceiling};
    return chosen;
}

launch::Plan planned(const profile::Profile& chosen, const cli::Request& request = {},
                     const HostFacts& host = {}) {
    auto plan = launch::make_plan(chosen, request, host, "/installed");
    REQUIRE(plan.has_value());
    return *plan;
}

HostFacts host_with(const std::string& chip) {
    return {.os = "26.5", .chip = chip, .guest = Tri::yes, .memory_bytes = 16U << 20U};
}

} // namespace

TEST_SUITE("launch.plan") {
    TEST_CASE("the chip's brand string tells the family") {
        CHECK(launch::family_of_chip("Apple M1 Ultra (Virtual)") == 1007);
        CHECK(launch::family_of_chip("Apple M2") == 1008);
        CHECK(launch::family_of_chip("Apple M3 Max") == 1009);
        CHECK(launch::family_of_chip("Apple M4 Pro (Virtual)") == 1009);
        CHECK(launch::family_of_chip("Apple M5") == 1010);
        CHECK(launch::family_of_chip("Apple M15") == 1007);
        CHECK(launch::family_of_chip("Intel(R) Core(TM) i7") == 1007);
        CHECK(launch::family_of_chip("") == 1007);
    }

    TEST_CASE("a profile's ceiling is lowered to the host's family, unless it says otherwise") {
        const auto lowered = planned(profile_at(1009), {}, host_with("Apple M1 (Virtual)"));
        CHECK(lowered.ceiling == 1007);
        CHECK(lowered.lowered_from == 1009);
        CHECK(planned(profile_at(1009), {}, host_with("Apple M4")).ceiling == 1009);
        auto published = profile_at(1009);
        published.metal.never_above_host = false;
        CHECK(planned(published, {}, host_with("Apple M1")).ceiling == 1009);
    }

    TEST_CASE("host means the family of the chip") {
        profile::Profile chosen{.name = "p"};
        chosen.metal.apple_family = profile::Family{profile::Family::Kind::host, 0};
        CHECK(planned(chosen, {}, host_with("Apple M2 (Virtual)")).ceiling == 1008);
        CHECK(planned(chosen).ceiling == 1007);
    }

    TEST_CASE(
        "a family on the command line is the user's own word, and is told when above the chip") {
        cli::Request request;
        request.policy.family = profile::Family{profile::Family::Kind::ceiling, 1009};
        const auto plan = planned(profile_at(1007), request, host_with("Apple M1"));
        CHECK(plan.ceiling == 1009);
        CHECK(plan.above_host);
        CHECK(plan.family.origin == "command line");
        CHECK_FALSE(planned(profile_at(1007), request, host_with("Apple M3")).above_host);
    }

    TEST_CASE("each value knows its origin") {
        auto chosen = profile_at(1007);
        chosen.policy.children = profile::Children::inherit;
        cli::Request request;
        request.policy.anywhere = true;
        const auto plan = planned(chosen, request);
        CHECK(plan.family.origin == "profile p");
        CHECK(plan.children.origin == "profile p");
        CHECK(plan.where.origin == "command line");
        CHECK(plan.hook.origin == "built-in default");
        CHECK(plan.shim.value == "/installed");
        CHECK(plan.children.value == profile::Children::inherit);
    }

    TEST_CASE("the environment is profile, then quirk, then command line") {
        auto chosen = profile_at(1007);
        chosen.environment = {.set = {{"A", "1"}}, .unset = {"B"}};
        chosen.quirks.push_back({.guest_os = ">=26", .set = {{"Q", "1"}}, .note = "n"});
        chosen.quirks.push_back({.guest_os = "13", .set = {{"R", "1"}}, .note = "m"});
        cli::Request request;
        request.environment.push_back({"A", std::nullopt});
        const auto plan = planned(chosen, request, host_with("Apple M1"));
        REQUIRE(plan.environment.size() == 4);
        CHECK(plan.environment[0].name == "B");
        CHECK(plan.environment[1].origin == "profile p");
        CHECK(plan.environment[2].name == "Q");
        CHECK(plan.environment[3].origin == "command line");
        REQUIRE(plan.quirks.size() == 1);
        CHECK(plan.quirks[0].guest_os == ">=26");
        REQUIRE(plan.skipped_quirks.size() == 1);
        CHECK(plan.skipped_quirks[0].guest_os == "13");
        CHECK(plan.skipped_quirks[0].note == "m");
    }

    TEST_CASE("a plan remembers what was seen of the host") {
        auto host = host_with("Apple M2 Pro (Virtual)");
        host.os = "15.5";
        const auto plan = planned(profile_at(1009), {}, host);
        CHECK(plan.host.os == "15.5");
        CHECK(plan.host.chip == "Apple M2 Pro (Virtual)");
        CHECK(plan.host.family == 1008);
        CHECK(launch::is_known_chip("Apple M5"));
        for (const char* const chip : {"", "Apple", "Apple M", "Apple M10", "M1", "Intel"}) {
            CAPTURE(chip);
            CHECK_FALSE(launch::is_known_chip(chip));
        }
    }

    TEST_CASE("a working set above three quarters of the memory is refused") {
        auto chosen = profile_at(1007);
        chosen.metal.working_set = profile::Limit{12U << 20U};
        CHECK(planned(chosen, {}, host_with("")).working_set.value == 12U << 20U);
        chosen.metal.working_set = profile::Limit{(12U << 20U) + 1};
        const auto plan = launch::make_plan(chosen, {}, host_with(""), "/s");
        REQUIRE_FALSE(plan.has_value());
        CHECK(plan.error().code == Errc::profile);
    }

    TEST_CASE("a limit raised on the command line needs a family") {
        cli::Request request;
        request.policy.threadgroup_memory = profile::Limit{65536};
        CHECK_FALSE(launch::make_plan({.name = "stock"}, request, {}, "/s").has_value());
        CHECK(launch::make_plan(profile_at(1007), request, {}, "/s").has_value());
    }
}
