// SPDX-License-Identifier: MIT
//
// Which profile a target gets and what a guest makes of it: asked for guests that host facts
// describe, so that a Mac's answers are looked at on every system.
#include "harness.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

struct Guest {
    std::string os;
    std::string chip;
};

std::string facts_file(const TempFolder& folder, const Guest& guest) {
    std::string text = "architecture = \"arm64\"\nguest = true\nsip = \"on\"\n";
    text += guest.os.empty() ? "" : "os = \"" + guest.os + "\"\n";
    text += guest.chip.empty() ? "" : "chip = \"" + guest.chip + "\"\n";
    return folder.write("facts.toml", text);
}

std::string shown(const TempFolder& folder, const Guest& guest, Strings arguments) {
    arguments.insert(arguments.begin(),
                     {"profile", "show", "--json", "--host-facts", facts_file(folder, guest)});
    const auto outcome = run(metalrun_command(std::move(arguments)));
    CHECK_MESSAGE(outcome.status() == 0, outcome.err);
    return outcome.out;
}

std::string checked(const TempFolder& folder, const Guest& guest, Strings arguments) {
    arguments.insert(arguments.begin(),
                     {"check", "--json", "--host-facts", facts_file(folder, guest)});
    auto command = metalrun_command(std::move(arguments));
    command.environment.push_back("HOME=" + folder.path());
    return run(command).out;
}

bool has_fixtures() {
    const bool there = exists(METALRUN_FIXTURE_DIR "/plain");
    if (!there) {
        MESSAGE("skipped: the fixtures were not built");
    }
    return there;
}

const std::string kFixture = METALRUN_FIXTURE_DIR "/plain";

} // namespace

TEST_SUITE("exec.profile_choice") {

    TEST_CASE("a family is lowered to the chip's, unless the profile or the command line says no") {
        const TempFolder folder;
        const auto nine = folder.write("nine.toml", "schema = 1\n[metal]\napple_family = 1009\n");
        const auto free = folder.write(
            "free.toml", "schema = 1\n[metal]\napple_family = 1009\nnever_above_host = false\n");
        const auto host =
            folder.write("host.toml", "schema = 1\n[metal]\napple_family = \"host\"\n");
        const std::vector<std::pair<std::string, std::string>> chips{
            {"Apple M1 (Virtual)", "1007"}, {"Apple M2 Ultra", "1008"},
            {"Apple M3", "1009"},           {"Apple M4 Max", "1009"},
            {"Apple M5", "1010"},           {"Apple M77", "1007"},
            {"VirtualApple", "1007"},       {"", "1007"}};
        for (const auto& [chip, family] : chips) {
            CAPTURE(std::string{chip});
            const Guest guest{.os = "15.5", .chip = chip};
            const bool is_lower = family < std::string("1009");
            const std::string lowered =
                is_lower ? R"("lowered_from": 1009)" : R"("lowered_from": null)";
            const std::string ceiling = R"("ceiling": )" + (is_lower ? family : "1009") + ",";
            const auto profile = shown(folder, guest, {nine});
            CHECK_MESSAGE(contains(profile, ceiling), profile);
            CHECK_MESSAGE(contains(profile, lowered), profile);
            CHECK(
                contains(shown(folder, guest, {free}), R"("ceiling": 1009, "lowered_from": null)"));
            CHECK(contains(shown(folder, guest, {host}), R"("ceiling": )" + family));
            CHECK(contains(shown(folder, guest, {"--family", "apple9", nine}),
                           R"("ceiling": 1009, "lowered_from": null)"));
        }
    }

    TEST_CASE("a quirk is applied to the guests of its range alone, and its variables with it") {
        const TempFolder folder;
        const std::vector<std::pair<std::string, Strings>> ranges{
            {"13", {"13", "13.0", "13.6.1"}},
            {"14.3", {"14.3", "14.3.1"}},
            {"14.0..14.3", {"14.0", "14.2.9", "14.3", "14.3.1"}},
            {">=15", {"15.0", "15.5", "26.5"}},
        };
        const Strings all{"12.7",   "13",   "13.0", "13.6.1", "14.0", "14.2.9", "14.3",
                          "14.3.1", "14.4", "15.0", "15.5",   "26.5", ""};
        for (const auto& [range, covered] : ranges) {
            const auto profile = folder.write(
                "quirk.toml", "schema = 1\n[metal]\napple_family = \"apple7\"\n[[quirk]]\n"
                              "guest_os = \"" +
                                  range +
                                  "\"\nset = { QUIRK = \"on\" }\n"
                                  "note = \"a note\"\n");
            for (const auto& os : all) {
                CAPTURE(std::string{range});
                CAPTURE(std::string{os});
                const bool applies = std::ranges::find(covered, os) != covered.end();
                const auto out = shown(folder, {.os = os, .chip = {}}, {profile});
                CHECK(contains(out, R"("guest_os": ")" + range + R"(", "applied": )" +
                                        (applies ? "true" : "false")));
                CHECK(contains(out, "environment.QUIRK") == applies);
            }
        }
    }

    TEST_CASE("a quirk that refuses does so for its guests alone, unless a family is asked for") {
        if (!has_fixtures()) {
            return;
        }
        const TempFolder folder;
        const auto profile = folder.write(
            "refuses.toml", "schema = 1\n[metal]\napple_family = \"apple7\"\n[[quirk]]\n"
                            "guest_os = \"14\"\nlevel = \"refuse\"\nnote = \"stale weights\"\n");
        const Guest old{.os = "14.5", .chip = {}};
        CHECK(contains(checked(folder, old, {"-p", profile, kFixture}), R"("decision": "refuse")"));
        CHECK(contains(checked(folder, old, {"-p", profile, kFixture}), "stale weights"));
        CHECK(contains(checked(folder, {.os = "15.5", .chip = {}}, {"-p", profile, kFixture}),
                       R"("decision": "inject")"));
        CHECK(contains(checked(folder, old, {"-p", profile, "--family", "apple7", kFixture}),
                       R"("decision": "inject")"));
    }

    TEST_CASE("a target is matched by its name, along the chain, by arguments and by libraries") {
        if (!has_fixtures()) {
            return;
        }
        const TempFolder folder;
        const Guest guest{.os = "15.5", .chip = {}};
        const auto write = [&](const std::string& name, const std::string& match) {
            folder.write(".config/metalrun/" + name + ".toml",
                         "schema = 1\n[metal]\napple_family = \"apple7\"\n[match]\n" + match);
        };
        write("by-name", "programs = [\"drawer-[0-9]\"]\n");
        write("by-interpreter", "programs = [\"python3*\"]\n");
        const auto chosen = [&](const std::string& profile, const std::string& key,
                                const std::string& pattern, const std::string& fits) {
            return R"("profile": ")" + profile + R"(", "chosen": {"by": "match", "key": ")" + key +
                   R"(", "pattern": ")" + pattern + R"(", "fits": ")" + fits + "\"}";
        };
        const auto named = folder.copy(kFixture, "drawer-7");
        auto out = checked(folder, guest, {named});
        CHECK_MESSAGE(contains(out, chosen("by-name", "programs", "drawer-[0-9]", "drawer-7")),
                      out);
        CHECK(contains(checked(folder, guest, {folder.copy(kFixture, "drawer-77")}),
                       R"("chosen": {"by": "default"})"));

        folder.copy(kFixture, "bin/python3.12");
        const auto script =
            folder.write("tool", "#!" + (folder / "bin/python3.12") + "\nimport this\n", 0755);
        out = checked(folder, guest, {script});
        CHECK_MESSAGE(contains(out, chosen("by-interpreter", "programs", "python3*", "python3.12")),
                      out);

        write("by-library", "libraries = [\"libSystem*\"]\n");
        out = checked(folder, guest, {named});
        CHECK_MESSAGE(
            contains(out, chosen("by-library", "libraries", "libSystem*", "libSystem.B.dylib")),
            out);

        write("by-arguments", "arguments = [\"drawer-7 serve\"]\n");
        auto command = metalrun_command(
            {"-n", "--", folder.copy(target("show"), "run/drawer-7"), "serve", "now"});
        command.environment.push_back("HOME=" + folder.path());
        out = run(command).out;
        CHECK_MESSAGE(contains(out, "profile: by-arguments\n"), out);
        CHECK(contains(out, "match.arguments has 'drawer-7 serve', which fits 'drawer-7 serve'\n"));

        out = checked(folder, guest, {"-p", "stock", named});
        CHECK(contains(out, R"("profile": "stock", "chosen": {"by": "option"})"));
    }

} // TEST_SUITE
