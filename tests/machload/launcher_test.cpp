// SPDX-License-Identifier: MIT
//
// The launcher's machine code for macOS does what its native build does: one table of cases for
// both processors. The loader it runs in is tests/machload/loader; what that cannot show is listed
// in the README.
#include "harness.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace metalrun::test;

constexpr const char* kFixtures = METALRUN_FIXTURE_DIR;

struct Machine {
    std::string name;
    std::string build; ///< of the cross build
    Strings runner;    ///< what runs the loader
};

const Machine kArm64{.name = "arm64", .build = MACOS_ARM64, .runner = {MACHLOAD_QEMU}};
const Machine kX86{.name = "x86_64", .build = MACOS_X86_64, .runner = {}};

std::string loader_of(const Machine& machine) {
    return std::string(MACHLOAD_DIR "/machload-") + machine.name + "/machload";
}

std::string launcher_of(const Machine& machine) {
    return machine.build + "/tests/metalrun-static";
}

std::string shim_of(const Machine& machine) {
    return machine.build + "/lib/metalrun/libmetalrun_shim.dylib";
}

std::string target_of(const Machine& machine) {
    return std::string(MACHLOAD_DIR "/machload-target-") + machine.name;
}

/// False, with a line that says so, when something that the cases need was not built; an error when
/// METALRUN_REQUIRE_MACOS=1.
bool is_there(const Machine& machine) {
    Strings needed = {loader_of(machine), launcher_of(machine), shim_of(machine),
                      target_of(machine)};
    needed.insert(needed.end(), machine.runner.begin(), machine.runner.end());
    const auto missing =
        std::ranges::find_if(needed, [](const std::string& path) { return !exists(path); });
    if (missing == needed.end()) {
        return true;
    }
    std::printf("machload, %s: a case is skipped, there is no '%s'\n", machine.name.c_str(),
                missing->c_str());
    const char* required = std::getenv("METALRUN_REQUIRE_MACOS");
    CHECK_MESSAGE((required == nullptr || std::string_view(required) != "1"),
                  "the cross build and qemu are required: ", *missing);
    return false;
}

/// A program for macOS, argv as given, in the loader.
Command loaded(const Machine& machine, const std::string& program, const Strings& arguments,
               const Strings& options = {}) {
    Command command;
    command.arguments = machine.runner;
    command.arguments.push_back(loader_of(machine));
    if (!machine.runner.empty()) {
        command.arguments.insert(command.arguments.end(), {"--runner", machine.runner.front()});
    }
    command.arguments.insert(command.arguments.end(), options.begin(), options.end());
    command.arguments.insert(command.arguments.end(), {"--argv0", arguments.front(), program});
    command.arguments.insert(command.arguments.end(), arguments.begin() + 1, arguments.end());
    command.environment = {"PATH=/usr/bin:/bin", "FIRST=1", "LUME_METAL_APPLE_FAMILY_MAX=1003"};
    return command;
}

/// `metalrun` for macOS with these arguments.
Command launcher(const Machine& machine, Strings arguments, const Strings& options = {}) {
    arguments.insert(arguments.begin(), "metalrun");
    return loaded(machine, launcher_of(machine), arguments, options);
}

/// The simulated kernel is an arm64 one, so a program for x86-64 is started translated. The
/// installed library for that is the universal one, which lies elsewhere in a build.
Strings start_options(const Machine& machine) {
    return machine.name == "x86_64"
               ? Strings{"--anywhere", "--arch", "x86_64", "--shim", shim_of(machine)}
               : Strings{"--anywhere"};
}

Strings start(const Machine& machine, const Strings& options, const std::string& program) {
    Strings arguments = start_options(machine);
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", program, "one", "two three", ""});
    return arguments;
}

/// What follows a key in the lines that have it.
Strings values_of(const std::string& text, const std::string& key) {
    Strings values;
    for (const auto& line : lines_of(text)) {
        if (line.starts_with(key + " ")) {
            values.push_back(line.substr(key.size() + 1));
        }
    }
    return values;
}

/// qemu-user turns the environment round, so its order is not compared.
Strings sorted(Strings strings) {
    std::ranges::sort(strings);
    return strings;
}

void tells_of_itself(const Machine& machine) {
    const auto version = run(launcher(machine, {"--version"}));
    CHECK(version.status() == 0);
    CHECK(version.out.starts_with("metalrun "));
    CHECK(version.err.empty());
    const auto own = run(metalrun_command({"--help"}));
    const auto help = run(launcher(machine, {"--help"}));
    CHECK(help.status() == 0);
    CHECK(help.out == own.out);
}

void shows_a_profile(const Machine& machine) {
    const auto shown = run(launcher(machine, {"profile", "show", "default"}));
    CHECK(shown.status() == 0);
    CHECK(contains(shown.out, "1007"));
}

void has_exit_statuses(const Machine& machine) {
    const auto usage = run(launcher(machine, {"--no-such-option"})); // by way of an exception
    CHECK(usage.status() == 125);
    CHECK(contains(usage.err, "unknown option '--no-such-option'"));
    const TempFolder folder;
    const auto file = folder.write("file", "no program", 0644);
    CHECK(run(launcher(machine, {"--anywhere", "--", file})).status() == 126);
    CHECK(run(launcher(machine, {"--anywhere", "--", folder / "absent"})).status() == 127);
}

/// The digests come from another library there, the rest from the same source.
void checks_as_the_native_one(const Machine& machine) {
    for (const auto* name : {"hardened", "page-16k", "sha1", "sha256-sha384", "damaged-page",
                             "team-signed", "universal", "fat-overlap"}) {
        CAPTURE(name);
        const Strings arguments = {"check",
                                   "--json",
                                   "--host-facts",
                                   METALRUN_FACTS,
                                   "--shim",
                                   shim_of(machine),
                                   std::string(kFixtures) + "/" + name};
        const auto own = run(metalrun_command(arguments));
        const auto theirs = run(launcher(machine, arguments));
        CHECK(contains(theirs.out, "\"targets\""));
        CHECK(theirs.out == own.out);
        CHECK(theirs.err == own.err);
        CHECK(theirs.status() == own.status());
    }
}

void starts_with_the_shim(const Machine& machine) {
    const TempFolder folder;
    const auto trace = folder / "trace";
    auto command = launcher(machine, start(machine, {}, target_of(machine)), {"--trace", trace});
    const auto state = "METALRUN_STATE_DIR=" + folder.make_folder("state", 0700);
    command.environment.push_back(state);
    command.environment.push_back("EXIT_STATUS=57");
    const auto outcome = run(command);
    CHECK(outcome.err == "");
    CHECK(outcome.status() == 57);
    CHECK(values_of(outcome.out, "pid") == Strings{std::to_string(outcome.pid)});
    CHECK(values_of(outcome.out, "argument") ==
          Strings{target_of(machine), "one", "two three", ""});
    CHECK(values_of(outcome.out, "family") ==
          Strings{"1005 1", "1006 1", "1007 1", "1008 0", "1009 0", "1010 0"});

    const auto receipt = (folder / "state") + "/" + std::to_string(outcome.pid) + ".toml";
    const auto given = values_of(read_file(trace), "environment");
    const Strings expected = {"PATH=/usr/bin:/bin",
                              "FIRST=1",
                              state,
                              "EXIT_STATUS=57",
                              "DYLD_INSERT_LIBRARIES=" + shim_of(machine),
                              "LUME_METAL_APPLE_FAMILY_MAX=1007",
                              "LUME_METAL_MAX_THREADGROUP_MEMORY=0",
                              "METALRUN_SHIM_HOOK=early",
                              "METALRUN_SHIM_CHILDREN=stock",
                              "METALRUN_RECEIPT=" + receipt};
    CHECK(sorted(given) == sorted(expected));
    // The shim has taken itself out again, in the vector that the program was started with.
    CHECK(sorted(values_of(outcome.out, "environment")) ==
          sorted({"PATH=/usr/bin:/bin", "FIRST=1", state, "EXIT_STATUS=57"}));
    const auto events = read_file(receipt);
    CHECK(contains(events, "state = \"loaded\""));
    CHECK(contains(events, "state = \"active\"\nclass = \"AppleParavirtDevice\"\nceiling = 1007\n"
                           "family_stock = 1005\nfamily_given = 1007\n"));
}

void starts_stock(const Machine& machine) {
    const TempFolder folder;
    const auto trace = folder / "trace";
    const auto outcome =
        run(launcher(machine, start(machine, {"--stock"}, target_of(machine)), {"--trace", trace}));
    CHECK(outcome.status() == 0);
    CHECK(sorted(values_of(read_file(trace), "environment")) ==
          Strings{"FIRST=1", "PATH=/usr/bin:/bin"});
    CHECK(values_of(outcome.out, "family") ==
          Strings{"1005 1", "1006 0", "1007 0", "1008 0", "1009 0", "1010 0"});
}

void refuses_a_hardened_program(const Machine& machine) {
    const auto program = target_of(machine) + "-hardened";
    const auto outcome = run(launcher(machine, start(machine, {}, program)));
    CHECK(outcome.status() == 126);
    CHECK(contains(outcome.err, "[hardened-runtime]"));
    CHECK(outcome.out.empty());
    CHECK(run(launcher(machine, start(machine, {"--stock"}, program))).status() == 0);
}

void loader_names_what_it_lacks(const Machine& machine) {
    auto command = loaded(machine, target_of(machine), {"target"});
    command.environment.push_back("CALL_KQUEUE=1");
    const auto called = run(command);
    CHECK(called.status() == 121);
    CHECK(called.err == "machload: call of '_kqueue', which the tables do not have\n");

    command.environment = {"DYLD_INSERT_LIBRARIES=/absent.dylib"};
    const auto inserted = run(command);
    CHECK(inserted.signal() == SIGABRT);
    CHECK(contains(inserted.err, "inserted dylib '/absent.dylib' could not be loaded"));
}

#define FOR_MACHINE(machine)                                                                       \
    TEST_CASE("version and help") {                                                                \
        if (is_there(machine)) {                                                                   \
            tells_of_itself(machine);                                                              \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("profile show") {                                                                    \
        if (is_there(machine)) {                                                                   \
            shows_a_profile(machine);                                                              \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("exit statuses 125, 126 and 127") {                                                  \
        if (is_there(machine)) {                                                                   \
            has_exit_statuses(machine);                                                            \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("check says what the native launcher says") {                                        \
        if (is_there(machine)) {                                                                   \
            checks_as_the_native_one(machine);                                                     \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("target, process, arguments, environment, shim, status") {                           \
        if (is_there(machine)) {                                                                   \
            starts_with_the_shim(machine);                                                         \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("stock") {                                                                           \
        if (is_there(machine)) {                                                                   \
            starts_stock(machine);                                                                 \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("a hardened program is refused") {                                                   \
        if (is_there(machine)) {                                                                   \
            refuses_a_hardened_program(machine);                                                   \
        }                                                                                          \
    }                                                                                              \
    TEST_CASE("the loader: a missing import, a missing insertion") {                               \
        if (is_there(machine)) {                                                                   \
            loader_names_what_it_lacks(machine);                                                   \
        }                                                                                          \
    }

} // namespace

// clang-format off: a macro that ends with a brace
TEST_SUITE("machload.arm64") {
    FOR_MACHINE(kArm64)
}

TEST_SUITE("machload.x86_64") {
    FOR_MACHINE(kX86)
}
// clang-format on
