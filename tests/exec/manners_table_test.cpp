// SPDX-License-Identifier: MIT
//
// What other wrappers do was written down case by case, in four tables: 1a exit status by case, 1b
// configuration errors, 1c problems of the injected library, 1d process model. Each row here names
// its table and column, and is started with the shim, stock, and with stock as the way out. The
// statuses stand here; the words stand in manners_expected.txt (METALRUN_UPDATE_GOLDEN=1 writes it
// anew; read the difference before it is committed).
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <utility>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

constexpr uid_t kOtherUser = 65534;

const std::array<std::pair<const char*, Strings>, 3> kModes{{
    {"injected", {"--anywhere"}},
    {"stock", {"--anywhere", "--stock"}},
    {"or stock", {"--anywhere", "--or-stock"}},
}};

enum class As : unsigned char { self, nobody };
enum class Needs : unsigned char { nothing, root, x86_64 };

struct Row {
    std::string name;          ///< table, column
    Strings arguments;         ///< behind the mode; $TMP and $TARGETS stand for folders
    std::array<int, 3> status; ///< by mode; 7 is the target's own
    Strings environment = {};
    Needs needs = Needs::nothing;
    As as = As::self;
    std::string directory = {};
};

Row with_profile(const std::string& name, const std::string& file) {
    return {"1b " + name, {"-p", "$TMP/" + file, "--", "$TARGETS/exit_with", "7"}, {125, 125, 125}};
}

Row with_shim(const std::string& name, const std::string& path, int refusal) {
    return {"1c " + name, {"--shim", path, "--", "$TARGETS/exit_with", "7"}, {refusal, 7, 7}};
}

std::vector<Row> rows() {
    return {
        {"1a missing path", {"--", "$TMP/absent"}, {127, 127, 127}},
        {"1a not in PATH", {"--", "no-such-program"}, {127, 127, 127}},
        {"1a wrong arch", {"--", "$TMP/foreign"}, {126, 126, 126}, {}, Needs::x86_64},
        {"1a static target", {"--", "$TARGETS/exit_with_static", "7"}, {126, 7, 7}},
        {"1a setuid target", {"--", "$TMP/set-id", "7"}, {126, 7, 7}, {}, Needs::root},
        {"1a text, no #!", {"--", "$TMP/text"}, {126, 126, 126}},
        {"1a directory", {"--", "$TMP/folder"}, {126, 126, 126}},
        {"1a not executable", {"--", "$TMP/no-run-bit"}, {126, 126, 126}},
        {"1a missing interp", {"--", "$TMP/orphan"}, {127, 127, 127}},
        {"1a -- target", {"--", "$TARGETS/exit_with", "7"}, {7, 7, 7}},
        {"1a target without --", {"$TARGETS/exit_with", "7"}, {7, 7, 7}},
        {"1a unknown option", {"--bogus", "--", "$TARGETS/exit_with", "7"}, {125, 125, 125}},
        {"1a no args", {}, {125, 125, 125}},
        {"1a no args behind --", {"--"}, {125, 125, 125}},
        // Set-up of table 1: three further targets.
        {"1a empty file", {"--", "$TMP/empty"}, {126, 126, 126}},
        {"1a truncated ELF", {"--", "$TMP/truncated"}, {126, 126, 126}},
        {"1a /bin/sh script", {"--", "$TMP/script"}, {7, 7, 7}},

        with_profile("explicit config does not exist", "absent.toml"),
        {"1b explicit config unreadable",
         {"-p", "$TMP/private.toml", "--", "$TARGETS/exit_with", "7"},
         {125, 125, 125},
         {},
         Needs::root,
         As::nobody},
        with_profile("unknown key", "unknown-key.toml"),
        with_profile("bad value for a known key", "bad-value.toml"),
        with_profile("malformed file", "malformed.toml"),
        with_profile("untrusted config", "writable.toml"),
        with_profile("untrusted folder", "open/good.toml"),
        {"1b config looked up in the current directory",
         {"--", "$TARGETS/exit_with", "7"},
         {7, 7, 7},
         {},
         Needs::nothing,
         As::self,
         "$TMP/here"},
        {"1b by variable: does not exist",
         {"--", "$TARGETS/exit_with", "7"},
         {125, 125, 125},
         {"METALRUN_PROFILE=$TMP/absent.toml"}},
        {"1b by variable: unknown key",
         {"--", "$TARGETS/exit_with", "7"},
         {125, 125, 125},
         {"METALRUN_PROFILE=$TMP/unknown-key.toml"}},

        with_shim("library file missing", "$TMP/absent.so", 125),
        with_shim("library of another architecture", "$TMP/foreign.so", 125),
        with_shim("library path with a space", "$TMP/a b.so", 125),
        with_shim("library path with a colon", "$TMP/a:b.so", 125),
        {"1c relative library path, then chdir",
         {"--shim", "./good.so", "-C", "folder", "--", "$TARGETS/exit_with", "7"},
         {7, 7, 7},
         {},
         Needs::nothing,
         As::self,
         "$TMP"},
        {"1c pre-existing preload value",
         {"--", "$TARGETS/exit_with", "7"},
         {7, 7, 7},
         {"LD_PRELOAD=$TMP/noop.so"}},
        {"1c wrapped twice",
         {"--", "$METALRUN", "--anywhere", "--", "$TARGETS/exit_with", "7"},
         {7, 7, 7}},
    };
}

void make_files(const TempFolder& folder) {
    const auto elf = read_file(target("exit_with"));
    const auto shim = read_file(programs().shim);
    chmod(folder.path().c_str(), 0755);
    folder.write("foreign", with_machine(elf, foreign_machine()), 0755);
    folder.write("text", "exit 7\n", 0755);
    folder.make_folder("folder");
    folder.write("no-run-bit", elf, 0644);
    folder.write("orphan", "#!/nowhere/interpreter\n", 0755);
    folder.write("empty", "", 0755);
    folder.write("truncated", elf.substr(0, 100), 0755);
    folder.write("script", "#!/bin/sh\nexit 7\n", 0755);
    folder.write("private.toml", "schema = 1\n", 0600);
    folder.write("unknown-key.toml", "schema = 1\n[metal]\nfamily = \"apple7\"\n");
    folder.write("bad-value.toml", "schema = 1\n[metal]\napple_family = \"banana\"\n");
    folder.write("malformed.toml", "schema = 1\n[metal\n");
    folder.write("writable.toml", "schema = 1\n", 0666);
    folder.write("open/good.toml", "schema = 1\n");
    chmod((folder / "open").c_str(), 0777);
    for (const auto* name : {"metalrun.toml", ".metalrun.toml", "default.toml", "exit_with.toml",
                             "metalrun/default.toml", ".config/metalrun/default.toml"}) {
        folder.write(std::string{"here/"} + name, "this is no profile\n");
    }
    folder.write("foreign.so", with_machine(shim, foreign_machine()));
    for (const auto* name : {"a b.so", "a:b.so", "good.so"}) {
        folder.write(name, shim);
    }
    folder.copy(target("libnoop.so"), "noop.so");
    if (geteuid() == 0) {
        const auto set_id = folder.write("set-id", elf, 0755);
        REQUIRE(chown(set_id.c_str(), kOtherUser, kOtherUser) == 0);
        chmod(set_id.c_str(), 04755);
    }
}

std::vector<std::pair<std::string, std::string>> names(const TempFolder& folder) {
    return {{"$TMP", folder.path()},
            {"$TARGETS", programs().targets},
            {"$METALRUN", programs().metalrun}};
}

std::string expanded(std::string text, const TempFolder& folder) {
    for (const auto& [name, path] : names(folder)) {
        text = replace_all(text, name, path);
    }
    return text;
}

std::string normalised(std::string text, const TempFolder& folder) {
    for (const auto& [name, path] : names(folder)) {
        text = replace_all(text, path, name);
    }
    // Another linker writes another number of them.
    text = std::regex_replace(text, std::regex{"[0-9]+ program headers"}, "$$N program headers");
    return std::regex_replace(text, std::regex{"owner [0-9]+"}, "owner $$UID");
}

bool can_run(const Row& row) {
#if defined(__x86_64__)
    const bool is_x86_64 = true;
#else
    const bool is_x86_64 = false;
#endif
    if (row.needs == Needs::root && (geteuid() != 0 || is_sanitized())) {
        MESSAGE("skipped, needs root and no sanitizer: ", row.name);
        return false;
    }
    if (row.needs == Needs::x86_64 && !is_x86_64) {
        MESSAGE("skipped, its text is that of an x86-64 machine: ", row.name);
        return false;
    }
    return true;
}

Command command_of(const Row& row, const Strings& options, const TempFolder& folder) {
    Strings arguments = options;
    for (const auto& argument : row.arguments) {
        arguments.push_back(expanded(argument, folder));
    }
    auto command = metalrun_command(arguments);
    for (const auto& entry : row.environment) {
        command.environment.push_back(expanded(entry, folder));
    }
    command.directory = expanded(row.directory, folder);
    if (row.as == As::nobody) {
        command.before_exec = [] {
            if (setgid(kOtherUser) != 0 || setuid(kOtherUser) != 0) {
                _exit(99);
            }
        };
    }
    return command;
}

/// The approved words, by "row [mode]".
std::vector<std::pair<std::string, std::string>> read_expected() {
    std::vector<std::pair<std::string, std::string>> expected;
    for (const auto& line : lines_of(read_file(METALRUN_MANNERS_EXPECTED))) {
        if (line.starts_with("== ")) {
            expected.emplace_back(line.substr(3), "");
        } else if (!expected.empty()) {
            expected.back().second += line + "\n";
        }
    }
    return expected;
}

/// Starts the waiting observer behind metalrun and sends SIGTERM once its main runs.
int end_by_term(const Strings& options) {
    constexpr int kReport = 200;
    std::array<int, 2> report{};
    REQUIRE(pipe2(report.data(), O_CLOEXEC) == 0);
    auto command = metalrun_command(options);
    command.arguments.insert(command.arguments.end(), {"--", target("observe")});
    command.environment.emplace_back("OBSERVE=wait");
    const auto pointers = [](Strings& strings) {
        std::vector<char*> result;
        for (auto& string : strings) {
            result.push_back(string.data());
        }
        result.push_back(nullptr);
        return result;
    };
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, report[1], kReport);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int error =
        posix_spawn(&child, command.file.c_str(), &actions, nullptr,
                    pointers(command.arguments).data(), pointers(command.environment).data());
    posix_spawn_file_actions_destroy(&actions);
    close(report[1]);
    REQUIRE(error == 0);
    std::string seen;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 1; count > 0;) {
        count = read(report[0], buffer.data(), buffer.size());
        seen.append(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    close(report[0]);
    CHECK(seen.starts_with("pid " + std::to_string(child) + " "));
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

} // namespace

TEST_SUITE("exec.manners_table") {

    TEST_CASE("each case of the tables has its status and its words") {
        const TempFolder folder;
        make_files(folder);
        const bool update = std::getenv("METALRUN_UPDATE_GOLDEN") != nullptr;
        auto expected = read_expected();
        std::string document;
        for (const auto& row : rows()) {
            if (!can_run(row)) {
                continue;
            }
            for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
                const auto name = row.name + " [" + kModes.at(mode).first + "]";
                CAPTURE(name);
                const auto outcome = run(command_of(row, kModes.at(mode).second, folder));
                CHECK_MESSAGE(outcome.status() == row.status.at(mode), outcome.err);
                CHECK(outcome.out.empty());
                const auto words = normalised(outcome.err, folder);
                document += "== " + name + "\n" + words;
                const auto approved =
                    std::find_if(expected.begin(), expected.end(),
                                 [&](const auto& one) { return one.first == name; });
                if (!update) {
                    REQUIRE(approved != expected.end());
                    CHECK(words == approved->second);
                }
            }
        }
        if (update) {
            std::ofstream{METALRUN_MANNERS_EXPECTED, std::ios::binary} << document;
        }
    }

    TEST_CASE("no approved words are left over") {
        const auto all = rows();
        for (const auto& [name, words] : read_expected()) {
            CAPTURE(name);
            CHECK(std::any_of(all.begin(), all.end(),
                              [&](const Row& row) { return name.starts_with(row.name + " ["); }));
        }
    }

    TEST_CASE("1c long pre-existing value: up to 100 KB, not a byte is lost") {
        const TempFolder folder;
        const auto library = folder.copy(target("libnoop.so"), "noop.so");
        std::string value;
        for (const std::size_t size : {std::size_t{255}, std::size_t{258}, std::size_t{4097},
                                       std::size_t{65'536}, std::size_t{100'000}}) {
            for (int i = 0; value.size() < size; ++i) {
                const auto name = std::to_string(value.size()) + std::string(80, 'n') + ".so";
                value += (value.empty() ? "" : ":") + folder.make_link(library, name);
            }
            for (const auto& [mode, options] : kModes) {
                CAPTURE(size);
                CAPTURE(std::string{mode});
                Strings words = options;
                words.insert(words.end(), {"--children", "inherit", "--", target("show")});
                auto command = metalrun_command(words);
                command.environment.push_back("LD_PRELOAD=" + value);
                const auto shown = run_show(folder, command);
                REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                const bool is_stock = options.back() == "--stock";
                CHECK(value_of(shown.report->environment, "LD_PRELOAD") ==
                      (is_stock ? value : programs().shim + ":" + value));
            }
        }
    }

    TEST_CASE("1d same PID, no descriptor leaked, argument zero as typed and not the caller's") {
        const TempFolder folder;
        for (const auto& [mode, options] : kModes) {
            CAPTURE(std::string{mode});
            Strings words = options;
            words.insert(words.end(), {"--", "show", "an argument"});
            auto command = metalrun_command(words);
            command.arguments.front() = "fancy"; // as with `exec -a fancy`
            command.environment.front() = "PATH=" + programs().targets;
            const auto shown = run_show(folder, command);
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->pid == shown.outcome.pid);
            CHECK(shown.report->descriptors == std::vector<int>{0, 1, 2});
            CHECK(shown.report->arguments == Strings{"show", "an argument"});
        }
    }

    TEST_CASE("1d shebang starts: the kernel's argument zero, with metalrun and without") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!" + target("show") + " two words\n", 0755);
        for (const auto& [mode, options] : kModes) {
            CAPTURE(std::string{mode});
            Strings words = options;
            words.insert(words.end(), {"--argv0", "fancy", "--", script, ""});
            const auto shown = run_show(folder, metalrun_command(words));
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->arguments == Strings{target("show"), "two words", script, ""});
        }
    }

    TEST_CASE("1d target killed by SIGTERM, SIGSEGV: 143, 139 for the shell that started it") {
        for (const auto& [mode, options] : kModes) {
            CAPTURE(std::string{mode});
            for (const int number : {SIGTERM, SIGSEGV}) {
                Command command;
                command.arguments = {"/bin/sh", "-c", "\"$@\"; exit $?", "sh", programs().metalrun};
                command.arguments.insert(command.arguments.end(), options.begin(), options.end());
                command.arguments.insert(command.arguments.end(),
                                         {"--", target("die_by"), std::to_string(number)});
                command.before_exec = [] {
                    const struct rlimit none{.rlim_cur = 0, .rlim_max = 0};
                    setrlimit(RLIMIT_CORE, &none);
                };
                CHECK(run(command).status() == 128 + number);
            }
        }
    }

    TEST_CASE("1d SIGTERM to the wrapper's PID reaches the target, whose death it is") {
        for (const auto& [mode, options] : kModes) {
            CAPTURE(std::string{mode});
            CHECK(end_by_term(options) == SIGTERM);
        }
    }

} // TEST_SUITE
