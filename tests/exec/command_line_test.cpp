// SPDX-License-Identifier: MIT
//
// The command line of section 2: where options end, how values are written, what is refused.
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

/// Starts `show` with these options and gives what it saw; its children inherit, so that it sees
/// all.
Shown show_with(const TempFolder& folder, Strings options,
                const Strings& further_environment = {}) {
    options.insert(options.begin(), {"--anywhere", "--children", "inherit"});
    options.insert(options.end(), {"--", target("show")});
    auto command = metalrun_command(options);
    command.environment.insert(command.environment.end(), further_environment.begin(),
                               further_environment.end());
    return run_show(folder, command);
}

std::string memory_of(const Shown& shown) {
    return shown.report ? value_of(shown.report->environment, "LUME_METAL_MAX_THREADGROUP_MEMORY")
                              .value_or("none")
                        : "not started: " + shown.outcome.err;
}

void check_usage_error(const Strings& arguments, const std::string& expected_part) {
    const TempFolder folder;
    CAPTURE(arguments.empty() ? std::string{} : arguments.front());
    const auto shown = run_show(folder, metalrun_command(arguments));
    CHECK(shown.outcome.status() == 125);
    CHECK_FALSE(shown.report);
    CHECK(shown.outcome.out.empty());
    CHECK(shown.outcome.err.starts_with("metalrun: error: "));
    CHECK_MESSAGE(contains(shown.outcome.err, expected_part), shown.outcome.err);
}

/// Standard error on a terminal; what it was sent, with the terminal's line ends undone.
std::string run_on_terminal(Command command) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    std::array<char, 256> name{};
    REQUIRE(terminal >= 0);
    REQUIRE(grantpt(terminal) == 0);
    REQUIRE(unlockpt(terminal) == 0);
    REQUIRE(ptsname_r(terminal, name.data(), name.size()) == 0);
    // Held open here, so that what was written can still be read when the program is gone.
    const int held = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    command.before_exec = [held] { dup2(held, STDERR_FILENO); };
    const auto outcome = run(command);
    CHECK(outcome.status() == 125);
    std::array<char, 8192> buffer{};
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    const auto count = read(terminal, buffer.data(), buffer.size());
    close(held);
    close(terminal);
    std::string text(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    std::erase(text, '\r');
    return text;
}

std::string without_colour(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b') {
            i = std::min(text.find('m', i), text.size());
        } else {
            result.push_back(text[i]);
        }
    }
    return result;
}

} // namespace

TEST_SUITE("exec.command_line") {

    TEST_CASE("no arguments: usage on standard error, 125") {
        const auto outcome = run(metalrun_command({}));
        CHECK(outcome.status() == 125);
        CHECK(outcome.out.empty());
        CHECK(contains(outcome.err, "metalrun [OPTION...] [--] TARGET [ARGUMENT...]"));
    }

    TEST_CASE("options without a target are a usage error") {
        check_usage_error({"--anywhere"}, "");
        check_usage_error({"--anywhere", "--"}, "");
        check_usage_error({"-p", "llama.cpp"}, "");
    }

    TEST_CASE("--help and --version go to standard output with status 0") {
        const auto help = run(metalrun_command({"--help"}));
        CHECK(help.status() == 0);
        CHECK(help.err.empty());
        for (const auto* part :
             {"--profile",        "--stock",   "--or-stock", "--family",   "--threadgroup-memory",
              "--working-set",    "--shim",    "--arch",     "--children", "--anywhere",
              "--when-uncertain", "--verify",  "--env",      "--unset",    "--chdir",
              "--argv0",          "--dry-run", "125",        "126",        "127"}) {
            CHECK_MESSAGE(contains(help.out, part), std::string{part});
        }
        const auto version = run(metalrun_command({"--version"}));
        CHECK(version.status() == 0);
        CHECK(version.err.empty());
        CHECK(version.out.starts_with("metalrun "));
        CHECK(std::count(version.out.begin(), version.out.end(), '\n') >= 1);
    }

    TEST_CASE("--help behind the target belongs to the target") {
        const TempFolder folder;
        const auto shown = run_show(
            folder, metalrun_command({"--anywhere", target("show"), "--help", "--version"}));
        REQUIRE(shown.report);
        CHECK(shown.report->arguments == Strings{target("show"), "--help", "--version"});
    }

    TEST_CASE("each command has help on standard output") {
        for (const auto* name : {"probe", "doctor", "profile"}) {
            CAPTURE(std::string{name});
            const auto outcome = run(metalrun_command({name, "--help"}));
            CHECK(outcome.status() == 0);
            CHECK(outcome.err.empty());
            CHECK(contains(outcome.out, name));
        }
    }

    TEST_CASE("values are written as '--name value', '--name=value', '-nVALUE' and '-n VALUE'") {
        const TempFolder folder;
        const std::vector<Strings> table{{"--profile", "published"},
                                         {"--profile=published"},
                                         {"-p", "published"},
                                         {"-ppublished"}};
        for (const auto& options : table) {
            CAPTURE(std::string{options.front()});
            CHECK(memory_of(show_with(folder, options)) == "65536");
        }
    }

    TEST_CASE("one-letter flags can stand together, a value ends them") {
        const TempFolder folder;
        auto shown = show_with(folder, {"-qppublished"});
        CHECK(memory_of(shown) == "65536");
        shown = show_with(folder, {"-qp", "published"});
        CHECK(memory_of(shown) == "65536");
        const auto dry = run(metalrun_command({"-qn", "--anywhere", "--", target("show")}));
        CHECK(dry.status() == 0);
        CHECK_FALSE(dry.out.empty());
    }

    TEST_CASE("of a repeated option the last wins") {
        const TempFolder folder;
        CHECK(memory_of(show_with(folder, {"-p", "published", "-p", "llama.cpp"})) == "0");
        CHECK(memory_of(show_with(folder, {"-p", "llama.cpp", "--profile=published"})) == "65536");
        const auto shown = show_with(folder, {"--argv0", "one", "--argv0", "two"});
        REQUIRE(shown.report);
        CHECK(shown.report->arguments == Strings{"two"});
    }

    TEST_CASE("empty and dash-led values are values") {
        const TempFolder folder;
        const std::vector<std::pair<Strings, std::string>> table{
            {{"--argv0", ""}, ""},
            {{"--argv0="}, ""},
            {{"--argv0", "-x"}, "-x"},
            {{"--argv0", "--stock"}, "--stock"},
            {{"--argv0=--"}, "--"},
            {{"--argv0", "--"}, "--"},
            {{"--argv0", "-bash"}, "-bash"},
            {{"--argv0", "a=b"}, "a=b"},
            {{"--argv0", "\xff\n"}, "\xff\n"}};
        for (const auto& [options, expected] : table) {
            CAPTURE(std::string{options.front()});
            const auto shown = show_with(folder, options);
            CHECK_MESSAGE(shown.report, shown.outcome.err);
            if (shown.report) {
                CHECK(shown.report->arguments == Strings{expected});
                CHECK(value_of(shown.report->environment, "LUME_METAL_APPLE_FAMILY_MAX"));
            }
        }
        const auto shown = show_with(folder, {"-e", "A=-1", "-eB=--", "--env", "C="});
        REQUIRE(shown.report);
        CHECK(value_of(shown.report->environment, "A") == "-1");
        CHECK(value_of(shown.report->environment, "B") == "--");
        CHECK(value_of(shown.report->environment, "C") == "");
    }

    TEST_CASE("an unknown option gives 125 and the nearest known one") {
        check_usage_error({"--famly", "apple7", "--", target("show")}, "--family");
        check_usage_error({"--anywere", "--", target("show")}, "--anywhere");
        check_usage_error({"--or-stok", target("show")}, "--or-stock");
        check_usage_error({"--dryrun", target("show")}, "--dry-run");
        check_usage_error({"-Z", target("show")}, "-Z");
        check_usage_error({"-qZ", target("show")}, "Z");
        check_usage_error({"--xyzzy-quux", target("show")}, "--xyzzy-quux");
    }

    TEST_CASE("an option is not abbreviated") {
        check_usage_error({"--prof", "published", target("show")}, "--prof");
        check_usage_error({"--any", target("show")}, "--any");
        check_usage_error({"--stoc", target("show")}, "--stock");
    }

    TEST_CASE("a missing, surplus or unknown value is a usage error") {
        check_usage_error({"--profile"}, "profile");
        check_usage_error({"-p"}, "p");
        check_usage_error({"--stock=yes", target("show")}, "stock");
        check_usage_error({"--children", "sometimes", target("show")}, "sometimes");
        check_usage_error({"--children=", target("show")}, "children");
        check_usage_error({"--arch", "ppc", target("show")}, "ppc");
        check_usage_error({"--when-uncertain", "maybe", target("show")}, "maybe");
        check_usage_error({"-e", "NOVALUE", target("show")}, "NOVALUE");
        check_usage_error({"-e", "=value", target("show")}, "");
        check_usage_error({"-u", "", target("show")}, "");
        check_usage_error({"-u", "A=B", target("show")}, "A=B");
    }

    TEST_CASE("--family takes the families of the profile rules and no other") {
        for (const auto* value :
             {"apple0", "apple11", "1000", "1011", "5001", "2001", "metal3", "mac2", "common3", "",
              "apple", "Apple 7 ", "0x3ef x", "99999999999999999999", "-1"}) {
            check_usage_error({"--anywhere", "--family", value, "--", target("show")}, "");
        }
        const TempFolder folder;
        CHECK(family_of(show_with(folder, {"-p", "published", "--family", "apple6"})) == "1006");
        CHECK(family_of(show_with(folder, {"-p", "published", "--family", "1006"})) == "1006");
        CHECK(family_of(show_with(folder, {"-p", "published", "--family=apple8"})) == "1008");
    }

    TEST_CASE("--threadgroup-memory takes bytes or text with a unit, at most 64 KiB") {
        const TempFolder folder;
        CHECK(memory_of(show_with(folder, {"--threadgroup-memory", "65536"})) == "65536");
        CHECK(memory_of(show_with(folder, {"--threadgroup-memory", "64 KiB"})) == "65536");
        CHECK(memory_of(show_with(folder, {"--threadgroup-memory=48KiB"})) == "49152");
        CHECK(memory_of(show_with(folder, {"-p", "published", "--threadgroup-memory", "stock"})) ==
              "0");
        for (const auto* value :
             {"65537", "64 MiB", "128KiB", "-1", "", "lots", "1e3", "18446744073709551616"}) {
            check_usage_error({"--anywhere", "--threadgroup-memory", value, "--", target("show")},
                              "");
        }
    }

    TEST_CASE(
        "--working-set is told to the shim only when it is asked for, up to 75 % of the memory") {
        const TempFolder folder;
        const std::string name{"LUME_METAL_RECOMMENDED_WORKING_SET_SIZE"};
        auto shown = show_with(folder, {"--working-set", "64 MiB"});
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(value_of(shown.report->environment, name) == "67108864");
        shown = show_with(folder, {});
        REQUIRE(shown.report);
        CHECK_FALSE(value_of(shown.report->environment, name));
        check_usage_error({"--anywhere", "--working-set", "1000000 GiB", "--", target("show")},
                          "75 %");
        check_usage_error({"--anywhere", "--working-set", "some", "--", target("show")}, "some");
    }

    TEST_CASE("-e refuses the names that would undo or fake the injection") {
        for (const auto* name : {"DYLD_INSERT_LIBRARIES", "LD_PRELOAD", "LD_LIBRARY_PATH",
                                 "LUME_METAL_APPLE_FAMILY_MAX", "METALRUN_RECEIPT",
                                 "METALRUN_SHIM_HOOK", "METALRUN_PROFILE"}) {
            check_usage_error({"--anywhere", "-e", std::string{name} + "=x", "--", target("show")},
                              name);
        }
        const TempFolder folder;
        const auto shown = show_with(folder, {"-e", "DYLD_PRINT_LIBRARIES=1"});
        REQUIRE(shown.report);
        CHECK(value_of(shown.report->environment, "DYLD_PRINT_LIBRARIES") == "1");
    }

    TEST_CASE("options end at the first operand") {
        const TempFolder folder;
        const auto shown = run_show(folder, metalrun_command({"--anywhere", target("show"),
                                                              "--stock", "--no-such-option"}));
        REQUIRE(shown.report);
        CHECK(shown.report->has_library(programs().shim));
    }

    TEST_CASE("only a bare first operand is a command") {
        const TempFolder folder;
        folder.copy(target("show"), "bin/check");
        folder.copy(target("show"), "bin/profile");
        const Strings path{"PATH=" + (folder / "bin")};
        for (const auto* name : {"check", "profile"}) {
            auto command = metalrun_command({"--", name, "list"});
            command.environment = path;
            auto shown = run_show(folder, command);
            REQUIRE(shown.report);
            CHECK(shown.report->arguments == Strings{name, "list"});

            command = metalrun_command({"-q", "--", name});
            command.environment = path;
            shown = run_show(folder, command);
            CHECK(shown.report);

            command = metalrun_command({name, "--help"});
            command.environment = path;
            shown = run_show(folder, command);
            CHECK_FALSE(shown.report);
        }
        const auto by_path = run_show(folder, metalrun_command({folder / "bin/check"}));
        CHECK(by_path.report);
    }

    TEST_CASE(
        "-C changes the folder before the target is searched, but after files of metalrun's own") {
        const TempFolder folder;
        folder.copy(target("show"), "there/prog");
        folder.write("here/mine.toml",
                     "schema = 1\n[metal]\napple_family = \"apple6\"\nnever_above_host = false\n");
        folder.copy(programs().shim, "here/shim.so");
        auto command = metalrun_command({"--anywhere", "--children", "inherit", "-p", "./mine.toml",
                                         "--shim", "./shim.so", "-C", "../there", "--", "./prog"});
        command.directory = folder / "here";
        const auto shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->cwd == folder / "there");
        CHECK(shown.report->arguments == Strings{"./prog"});
        CHECK(value_of(shown.report->environment, "LUME_METAL_APPLE_FAMILY_MAX") == "1006");
        CHECK(value_of(shown.report->environment, "LD_PRELOAD") == folder / "here/shim.so");
        CHECK(shown.report->has_library(folder / "here/shim.so"));
    }

    TEST_CASE("a relative PATH entry is searched after -C, an empty one never") {
        const TempFolder folder;
        folder.copy(target("show"), "there/bin/prog");
        auto command = metalrun_command({"--anywhere", "-C", folder / "there", "--", "prog"});
        command.environment = {"PATH=bin:/nowhere"};
        CHECK(run_show(folder, command).report);

        for (const auto* path : {"PATH=", "PATH=:", "PATH=:/nowhere", "PATH=/nowhere:"}) {
            CAPTURE(std::string{path});
            command = metalrun_command({"--anywhere", "--", "prog"});
            command.directory = folder / "there/bin";
            command.environment = {path};
            const auto shown = run_show(folder, command);
            CHECK(shown.outcome.status() == 127);
            CHECK_FALSE(shown.report);
        }
    }

    TEST_CASE("-C with a missing folder is metalrun's own failure") {
        check_usage_error({"--anywhere", "-C", "/nowhere/at/all", "--", target("show")},
                          "/nowhere/at/all");
        check_usage_error({"--anywhere", "-C", target("show"), "--", target("show")},
                          target("show"));
    }

    TEST_CASE("-e PATH and -u PATH change the search") {
        const TempFolder folder;
        folder.copy(target("show"), "bin/prog");
        auto shown = show_with(folder, {});
        auto command =
            metalrun_command({"--anywhere", "-e", "PATH=" + (folder / "bin"), "--", "prog"});
        CHECK(run_show(folder, command).report);

        command = metalrun_command({"--anywhere", "-u", "PATH", "--", "prog"});
        command.environment = {"PATH=" + (folder / "bin")};
        shown = run_show(folder, command);
        CHECK(shown.outcome.status() == 127);
        CHECK_FALSE(shown.report);

        command = metalrun_command({"--anywhere", "--", "true"});
        command.environment = without(base_environment(), {"PATH"});
        CHECK(run(command).status() == 0);
    }

    TEST_CASE("--argv0 changes the name and nothing else") {
        const TempFolder folder;
        const auto shown = show_with(folder, {"--argv0", "a name"});
        REQUIRE(shown.report);
        CHECK(shown.report->arguments == Strings{"a name"});
        CHECK(shown.report->exe == target("show"));
    }

    TEST_CASE("-n prints the plan on standard output and starts nothing") {
        const TempFolder folder;
        for (const auto* option : {"-n", "--dry-run"}) {
            const auto state = folder / "state";
            auto command = metalrun_command(
                {"--anywhere", option, "-p", "llama.cpp", "--", target("show"), "an argument"});
            command.environment.push_back("METALRUN_STATE_DIR=" + state);
            const auto shown = run_show(folder, command);
            CHECK(shown.outcome.status() == 0);
            CHECK_FALSE(shown.report);
            CHECK(shown.outcome.err.empty());
            for (const std::string& part :
                 {target("show"), std::string{"an argument"}, programs().shim,
                  std::string{"LUME_METAL_APPLE_FAMILY_MAX=1007"}, std::string{"llama.cpp"},
                  std::string{"inject"}}) {
                CHECK_MESSAGE(contains(shown.outcome.out, part), std::string{part});
            }
            CHECK_FALSE(exists(state + "/" + std::to_string(shown.outcome.pid) + ".toml"));
        }
    }

    TEST_CASE("-n of a start that is refused answers with its status") {
        const TempFolder folder;
        const auto shown =
            run_show(folder, metalrun_command({"-n", "--anywhere", "--", target("show_static")}));
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(shown.report);
    }

    TEST_CASE("-v tells on standard error what is done, -q hushes notes") {
        const TempFolder folder;
        auto shown = show_with(folder, {"-v"});
        REQUIRE(shown.report);
        CHECK(value_of(shown.report->environment, "METALRUN_SHIM_VERBOSE") == "1");
        CHECK(shown.outcome.out.empty());
        CHECK_FALSE(shown.outcome.err.empty());
        shown = run_show(folder, metalrun_command({"-q", "--", target("show")}));
        REQUIRE(shown.report);
        CHECK(shown.outcome.err.empty());
    }

    TEST_CASE("outside a guest the target runs stock with one note") {
        const TempFolder folder;
        const auto shown = run_show(folder, metalrun_command({"--", target("show")}));
        REQUIRE(shown.report);
        CHECK_FALSE(shown.report->has_library(programs().shim));
        CHECK(shown.report->environment == shown.given);
        const auto lines = lines_of(shown.outcome.err);
        REQUIRE(lines.size() == 1);
        CHECK(contains(lines[0], "note: "));
        CHECK(contains(lines[0], "[not-a-guest]"));
    }

    TEST_CASE("--stock starts without the shim and says so once") {
        const TempFolder folder;
        const auto shown =
            run_show(folder, metalrun_command({"--anywhere", "--stock", "--", target("show")}));
        REQUIRE(shown.report);
        CHECK_FALSE(shown.report->has_library(programs().shim));
        CHECK(lines_of(shown.outcome.err).size() == 1);
        CHECK(contains(shown.outcome.err, "[stock-asked]"));
    }

    TEST_CASE("errors have the form 'metalrun: error: ...', 'note: ...', 'help: ...'") {
        const std::vector<Strings> table{
            {"--bogus"},
            {"--anywhere", "--", "/nowhere/prog"},
            {"--anywhere", "--", "no-such-program"},
            {"--anywhere", "--", target("show_static")},
            {"--anywhere", "--shim", "/nowhere.so", "--", target("show")},
            {"--anywhere", "-p", "/nowhere.toml", "--", target("show")}};
        for (const auto& arguments : table) {
            const auto outcome = run(metalrun_command(arguments));
            CAPTURE(outcome.err);
            const auto lines = lines_of(outcome.err);
            REQUIRE_FALSE(lines.empty());
            CHECK(lines[0].starts_with("metalrun: error: "));
            CHECK(outcome.err.ends_with("\n"));
            for (std::size_t i = 1; i < lines.size(); ++i) {
                CHECK((lines[i].starts_with("note: ") || lines[i].starts_with("help: ")));
            }
            for (const auto& line : lines) {
                CHECK_FALSE(line.ends_with("."));
            }
            CHECK(outcome.out.empty());
        }
    }

    TEST_CASE("control bytes in names are escaped in messages") {
        const auto outcome =
            run(metalrun_command({"--anywhere", "--", "/nowhere/\x1b[31mred\nline"}));
        CHECK(outcome.status() == 127);
        CHECK_FALSE(contains(outcome.err, "\x1b"));
        CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') ==
              static_cast<std::ptrdiff_t>(lines_of(outcome.err).size()));
        CHECK_FALSE(contains(outcome.err, "red\nline"));
    }

    TEST_CASE("colour is for a terminal without NO_COLOR, and the words are the same") {
        const Strings arguments{"--bogus", target("show")};
        const auto piped = run(metalrun_command(arguments));
        CHECK_FALSE(contains(piped.err, "\x1b"));

        auto command = metalrun_command(arguments);
        command.environment.emplace_back("TERM=xterm-256color");
        const auto coloured = run_on_terminal(command);
        CHECK(without_colour(coloured) == piped.err);

        command.environment.emplace_back("NO_COLOR=1");
        const auto plain = run_on_terminal(command);
        CHECK(plain == piped.err);
    }

} // TEST_SUITE
