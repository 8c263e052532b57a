// SPDX-License-Identifier: MIT
//
// A metalrun that starts a metalrun: one library, one receipt, and the settings of the inner one
// (metalrun(1), "Nested starts").
#include "harness.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

constexpr auto kCeiling = "LUME_METAL_APPLE_FAMILY_MAX";

/// `show` behind these words; every start is injected and inherited unless the words say otherwise.
Shown start(const TempFolder& folder, Strings words, const Strings& further_environment = {}) {
    words.insert(words.end(), {"--", target("show"), "an argument", ""});
    auto command = metalrun_command(words);
    command.environment.insert(command.environment.end(), further_environment.begin(),
                               further_environment.end());
    return run_show(folder, command);
}

/// The words of one metalrun; `options` go behind `--anywhere`.
Strings layer(const Strings& options) {
    Strings words{"--anywhere", "--children", "inherit"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

Strings nested(const Strings& outer, const Strings& inner) {
    Strings words = outer;
    words.insert(words.end(), {"--", programs().metalrun});
    words.insert(words.end(), inner.begin(), inner.end());
    return words;
}

std::string value(const Shown& shown, std::string_view name) {
    REQUIRE_MESSAGE(shown.report, shown.outcome.err);
    return value_of(shown.report->environment, name).value_or("(absent)");
}

Strings receipts_in(const std::string& folder) {
    Strings texts;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        texts.push_back(read_file(entry.path().string()));
    }
    return texts;
}

/// A shell script that becomes `metalrun` with these options.
std::string script_with(const TempFolder& folder, const std::string& options) {
    return folder.write("wrapper",
                        "#!/bin/sh\nexec '" + programs().metalrun + "' " + options + " -- '" +
                            target("show") + "' \"$@\"\n",
                        0755);
}

const Strings kApple6 = layer({"--family", "apple6"});
const Strings kApple8 = layer({"--family", "apple8"});

} // namespace

TEST_SUITE("exec.manners_nested") {

    TEST_CASE("the inner settings count, one library is inserted, and nothing is said") {
        const TempFolder folder;
        const auto shown = start(folder, nested(kApple6, kApple8));
        CHECK(value(shown, kCeiling) == "1008");
        CHECK(value(shown, "LD_PRELOAD") == programs().shim);
        CHECK(shown.report->pid == shown.outcome.pid);
        CHECK(shown.report->arguments == Strings{target("show"), "an argument", ""});
        CHECK(shown.outcome.err.empty());
        CHECK(shown.outcome.out.empty());
    }

    TEST_CASE("whatever the outer decision is, the inner one is made for itself") {
        const TempFolder folder;
        const std::vector<Strings> outers{kApple6,
                                          layer({"--stock"}),
                                          {"--stock", "-q"},
                                          {"-q"},
                                          layer({"-p", "mlx"}),
                                          layer({"--or-stock"}),
                                          {"--anywhere", "--children", "stock"}};
        for (const auto& outer : outers) {
            CAPTURE(outer.back());
            auto shown = start(folder, nested(outer, kApple8));
            CHECK(value(shown, kCeiling) == "1008");
            CHECK(value(shown, "LD_PRELOAD") == programs().shim);
            CHECK(shown.outcome.err.empty());

            shown = start(folder, nested(outer, {"--stock", "-q"}));
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->environment == shown.given);
            CHECK_FALSE(shown.report->has_library(programs().shim));
        }
    }

    TEST_CASE("a library that was there before stays, once") {
        const TempFolder folder;
        const auto other = folder.copy(target("libnoop.so"), "other.so");
        const auto shown = start(folder, nested(kApple6, kApple8), {"LD_PRELOAD=" + other});
        CHECK(value(shown, "LD_PRELOAD") == programs().shim + ":" + other);
    }

    TEST_CASE("-e, -u and -C of the outer start remain, its profile's variables do not") {
        const TempFolder folder;
        const auto profile =
            folder.write("outer.toml", "schema = 1\n[environment]\nset = { BY_PROFILE = \"1\" }\n");
        const auto place = folder.make_folder("place");
        const auto shown = start(
            folder,
            nested(layer({"-p", profile, "-e", "BY_OPTION=1", "-u", "GONE", "-C", place}), kApple8),
            {"GONE=1"});
        CHECK(value(shown, "BY_OPTION") == "1");
        CHECK(value(shown, "BY_PROFILE") == "(absent)");
        CHECK(value(shown, "GONE") == "(absent)");
        CHECK(shown.report->cwd == place);
    }

    TEST_CASE("METALRUN_PROFILE is for both, and stays") {
        const TempFolder folder;
        const auto shown =
            start(folder, nested(layer({}), layer({})), {"METALRUN_PROFILE=published"});
        CHECK(value(shown, "METALRUN_PROFILE") == "published");
        CHECK(value(shown, "LUME_METAL_MAX_THREADGROUP_MEMORY") == "65536");
    }

    TEST_CASE("with -v the outer one says in one line that its settings are left out") {
        const TempFolder folder;
        const auto count = [](const Shown& shown) {
            const auto lines = lines_of(shown.outcome.err);
            return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
                return line.starts_with("metalrun: note: ") && line.ends_with("[nested-start]");
            });
        };
        Strings outer = kApple6;
        outer.emplace_back("-v");
        CHECK(count(start(folder, nested(outer, kApple8))) == 1);
        CHECK(count(start(folder, nested(kApple6, kApple8))) == 0);
        outer.emplace_back("-q");
        CHECK(count(start(folder, nested(outer, kApple8))) == 0);
    }

    TEST_CASE("through a script, the inner one replaces what it inherits, and says so with -v") {
        const TempFolder folder;
        for (const auto* children : {"stock", "inherit"}) {
            for (const auto* verbose : {"", "-v "}) {
                CAPTURE(std::string{children});
                const auto script = script_with(
                    folder, std::string{verbose} + "--anywhere --children inherit --family apple8");
                auto command = metalrun_command({"--anywhere", "--family", "apple6", "--children",
                                                 children, "--", script, "an argument"});
                const auto shown = run_show(folder, command);
                CHECK(value(shown, kCeiling) == "1008");
                CHECK(value(shown, "LD_PRELOAD") == programs().shim);
                CHECK(shown.report->arguments == Strings{target("show"), "an argument"});
                CHECK(shown.report->pid == shown.outcome.pid);
                const bool told = *verbose != 0 && std::string{children} == "inherit";
                CHECK(contains(shown.outcome.err, "[nested-start]") == told);
            }
        }
    }

    TEST_CASE("through a script, an inner stock start takes the outer shim away") {
        const TempFolder folder;
        const auto script = script_with(folder, "--stock -v");
        auto command = metalrun_command(layer({"--", script}));
        const auto shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK_FALSE(shown.report->has_library(programs().shim));
        CHECK(value(shown, kCeiling) == "(absent)");
        CHECK(contains(shown.outcome.err, "[nested-start]"));
    }

    TEST_CASE("through env, the inner settings count") {
        const TempFolder folder;
        Strings words = kApple6;
        words.insert(words.end(), {"--", "/usr/bin/env", "BY_ENV=1", programs().metalrun});
        words.insert(words.end(), kApple8.begin(), kApple8.end());
        const auto shown = start(folder, words);
        CHECK(value(shown, kCeiling) == "1008");
        CHECK(value(shown, "LD_PRELOAD") == programs().shim);
        CHECK(value(shown, "BY_ENV") == "1");
    }

    TEST_CASE("a link that stands for another program gets the options of the one start") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/prog");
        folder.copy(target("show"), "bin/prog");
        for (const auto& typed : {std::string{"prog"}, folder / "links/prog"}) {
            CAPTURE(typed);
            auto command = metalrun_command(layer({"--family", "apple6", "--", typed, "-p"}));
            command.environment = {"PATH=" + (folder / "links") + ":" + (folder / "bin")};
            const auto shown = run_show(folder, command);
            CHECK(value(shown, kCeiling) == "1006");
            CHECK(shown.report->exe == folder / "bin/prog");
            CHECK(shown.report->arguments == Strings{"prog", "-p"});
            CHECK(shown.outcome.err.empty());
        }
    }

    TEST_CASE("a link that stands for a program that is not there: 127") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/prog");
        folder.make_link(programs().metalrun, "more/prog");
        auto command = metalrun_command({"--anywhere", "--", "prog"});
        command.environment = {"PATH=" + (folder / "links") + ":" + (folder / "more")};
        const auto shown = run_show(folder, command);
        CHECK(shown.outcome.status() == 127);
        CHECK_FALSE(shown.report);
        CHECK(contains(shown.outcome.err, "[target-not-found]"));
    }

    TEST_CASE("a link under the name metalrun is metalrun") {
        const TempFolder folder;
        const auto link = folder.make_link(programs().metalrun, "links/metalrun");
        Strings words = kApple6;
        words.insert(words.end(), {"--", link});
        words.insert(words.end(), kApple8.begin(), kApple8.end());
        CHECK(value(start(folder, words), kCeiling) == "1008");
    }

    TEST_CASE("one process leaves one receipt, that of the inner start") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        const Strings environment{"METALRUN_STATE_DIR=" + state};
        const auto shown = start(folder, nested(kApple6, kApple8), environment);
        REQUIRE(shown.report);
        auto texts = receipts_in(state);
        REQUIRE(texts.size() == 1);
        CHECK(contains(texts[0], "pid = " + std::to_string(shown.outcome.pid) + "\n"));
        CHECK(contains(texts[0], "ceiling = 1008\n"));

        const auto script = script_with(folder, "--anywhere --children inherit --family apple7");
        for (const auto* children : {"stock", "inherit"}) {
            CAPTURE(std::string{children});
            std::filesystem::remove_all(state);
            folder.make_folder("state", 0700);
            auto command = metalrun_command(
                {"--anywhere", "--family", "apple6", "--children", children, "--", script});
            command.environment.push_back(environment.front());
            CHECK(run_show(folder, command).report);
            texts = receipts_in(state);
            REQUIRE(texts.size() == 1);
            CHECK(contains(texts[0], "ceiling = 1007\n"));
            CHECK_FALSE(contains(texts[0], "ceiling = 1006\n"));
        }
    }

    TEST_CASE("an inner refusal is the answer, and leaves no receipt") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        const auto refused = [&](const Strings& inner, int status) {
            auto command = metalrun_command(nested(kApple6, inner));
            command.environment.push_back("METALRUN_STATE_DIR=" + state);
            const auto outcome = run(command);
            CHECK(outcome.status() == status);
            CHECK(receipts_in(state).empty());
        };
        refused({"--no-such-option"}, 125);
        refused({}, 125);
        refused({"--", "/nowhere/prog"}, 127);
        refused({"--anywhere", "--", target("show_static")}, 126);
        refused({"--version"}, 0);
    }

    TEST_CASE("-n of the outer start shows that it would be stock") {
        auto words = nested({"-n", "--anywhere"}, kApple8);
        words.push_back(target("show"));
        const auto outcome = run(metalrun_command(words));
        CHECK(outcome.status() == 0);
        CHECK(contains(outcome.out, "reason: nested-start\n"));
    }

    TEST_CASE("a statically linked metalrun is a metalrun, not a static program") {
        const TempFolder folder;
        auto elf = read_file(programs().metalrun);
        const auto loader = elf.find("/lib64/ld-linux");
        if (is_sanitized() || loader == std::string::npos) {
            MESSAGE("skipped: this metalrun names no loader that could be taken out");
            return;
        }
        // PT_INTERP becomes PT_NULL: what is left would not start, but it is judged as if.
        constexpr char kInterpreter = 3;
        constexpr std::size_t kHeaders = 64;
        constexpr std::size_t kHeaderSize = 56;
        for (std::size_t at = kHeaders; at < kHeaders + 16 * kHeaderSize; at += kHeaderSize) {
            if (elf.at(at) == kInterpreter && elf.at(at + 1) == 0) {
                elf.at(at) = 0;
                break;
            }
        }
        const auto copy = folder.write("metalrun", elf, 0755);
        const auto outcome =
            run(metalrun_command({"-n", "--anywhere", "--", copy, target("show")}));
        CHECK(outcome.status() == 0);
        CHECK(contains(outcome.out, "reason: nested-start\n"));
    }

    TEST_CASE("fifty of them end in the target") {
        const TempFolder folder;
        Strings words{"--anywhere"};
        for (int depth = 1; depth < 50; ++depth) {
            words.insert(words.end(), {"--", programs().metalrun, "--anywhere", "--children",
                                       depth % 2 == 0 ? "stock" : "inherit"});
            if (depth % 3 == 0) {
                words.emplace_back("--stock");
            }
        }
        words.insert(words.end(), {"--", programs().metalrun});
        words.insert(words.end(), kApple8.begin(), kApple8.end());
        const auto shown = start(folder, words);
        CHECK(value(shown, kCeiling) == "1008");
        CHECK(value(shown, "LD_PRELOAD") == programs().shim);
        CHECK(shown.outcome.err.empty());
    }

} // TEST_SUITE
