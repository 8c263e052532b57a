// SPDX-License-Identifier: MIT
#include "profile/host_facts.hpp"

#include <doctest/doctest.h>

using namespace metalrun;

namespace {

std::string refused(std::string_view text) {
    const auto facts = profile::parse_host_facts(text, "facts.toml");
    REQUIRE_FALSE(facts.has_value());
    CHECK(facts.error().code == Errc::usage);
    return facts.error().message;
}

} // namespace

TEST_SUITE("profile.host_facts") {
    TEST_CASE("all keys are read") {
        const auto facts = profile::parse_host_facts(R"toml(
os = "15.5"
build = "24F74"
architecture = "arm64"
chip = "Apple M2 (Virtual)"
guest = true
sip = "off"
boot_arguments = ["-v", "amfi=1"]
translated = false
metal_device = "Apple Paravirtual device"
memory = 8589934592
)toml",
                                                     "facts.toml");
        REQUIRE(facts.has_value());
        CHECK(*facts == HostFacts{.source = HostFacts::Source::file,
                                  .kernel = HostFacts::Kernel::darwin,
                                  .os = "15.5",
                                  .build = "24F74",
                                  .architecture = "arm64",
                                  .chip = "Apple M2 (Virtual)",
                                  .guest = Tri::yes,
                                  .sip = Tri::no,
                                  .boot_arguments = {"-v", "amfi=1"},
                                  .translated = Tri::no,
                                  .metal_device = "Apple Paravirtual device",
                                  .memory_bytes = 8589934592});
    }

    TEST_CASE("what is left out is unknown") {
        const auto facts = profile::parse_host_facts("", "facts.toml");
        REQUIRE(facts.has_value());
        CHECK(facts->guest == Tri::unknown);
        CHECK(facts->sip == Tri::unknown);
        CHECK_FALSE(facts->memory_bytes.has_value());
    }

    TEST_CASE("unknown keys and wrong types are named with their place") {
        CHECK(refused("chipp = \"x\"\n") == "facts.toml:1:1: unknown key 'chipp'");
        CHECK(refused("os = 15\n") ==
              "facts.toml:1:6: 'os' is an integer, expected a version such as \"15.5\"");
        CHECK(refused("sip = \"maybe\"\n").find("expected \"on\", \"off\"") != std::string::npos);
        CHECK(refused("guest = \"yes\"\n").find("expected true or false") != std::string::npos);
        CHECK(refused("boot_arguments = [1]\n").find("an array of strings") != std::string::npos);
        CHECK(refused("memory = 0\n").find("a number of bytes") != std::string::npos);
        CHECK(refused("os = \n").starts_with("facts.toml:1:"));
    }

    TEST_CASE("a system that is no version is refused, not judged for") {
        for (const std::string os :
             {"", "abc", "26.", ".5", "26..5", " 26.5", "26.5b", "-1", "1.2.3.4", "20260"}) {
            CAPTURE(os);
            CHECK(refused("os = \"" + os + "\"\n").find("a version such as") != std::string::npos);
        }
        for (const std::string os : {"13", "15.5", "15.7.1", "99"}) {
            CAPTURE(os);
            CHECK(profile::parse_host_facts("os = \"" + os + "\"\n", "facts.toml").has_value());
        }
    }
}
