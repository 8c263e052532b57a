// SPDX-License-Identifier: MIT
//
// The first promise: the target cannot tell metalrun from a plain start, but for the variables that
// carry the shim. Most cases compare what `show` saw behind metalrun with what it sees without.
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <utility>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

/// Ways to start: with the shim, stock by wish, stock because this is no guest.
struct Way {
    const char* name;
    Strings options;
};

const std::array<Way, 4> kWays{{
    {"injected", {"--anywhere"}},
    {"injected, children inherit", {"--anywhere", "--children", "inherit"}},
    {"stock", {"--stock"}},
    {"not a guest", {"-q"}},
}};

Command start(const Way& way, const std::string& program, const Strings& arguments = {}) {
    Strings all = way.options;
    all.emplace_back("--");
    all.push_back(program);
    all.insert(all.end(), arguments.begin(), arguments.end());
    return metalrun_command(all);
}

Strings shim_variables() {
    return {
        "LD_PRELOAD",         "LUME_METAL_APPLE_FAMILY_MAX", "LUME_METAL_MAX_THREADGROUP_MEMORY",
        "METALRUN_SHIM_HOOK", "METALRUN_SHIM_CHILDREN",      "METALRUN_RECEIPT"};
}

} // namespace

TEST_SUITE("exec.never_hurt") {

    TEST_CASE("the target has the process of metalrun and its parent") {
        const TempFolder folder;
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            const auto shown = run_show(folder, start(way, target("show")));
            CHECK(shown.outcome.status() == 0);
            REQUIRE(shown.report);
            CHECK(shown.report->pid == shown.outcome.pid);
            CHECK(shown.report->ppid == getpid());
            CHECK(shown.report->exe == target("show"));
        }
    }

    TEST_CASE("nothing is written on standard output and, when the shim goes in, nothing on "
              "standard error") {
        const TempFolder folder;
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            const auto shown = run_show(folder, start(way, target("show")));
            CHECK(shown.outcome.out.empty());
            if (way.options.front() != "--stock") {
                CHECK(shown.outcome.err.empty());
            }
        }
    }

    TEST_CASE("arguments reach the target byte for byte") {
        const TempFolder folder;
        const std::vector<Strings> table{
            {},
            {""},
            {"", "", ""},
            {"one two", "  ", "\t"},
            {"line one\nline two", "\n", "\r\n"},
            {"--", "--", "-"},
            {"-p", "--stock", "--help", "--version", "-n", "--family=apple9"},
            {"\xff\xfe", "caf\xc3\xa9", "\x80", "\xc3"},
            {"$HOME", "`id`", "*", "a'b\"c\\d", "%s%n", "{}", "=", "NAME=VALUE"},
            {std::string(100'000, 'x')},
            Strings(2'000, "many"),
        };
        for (const auto& way : kWays) {
            for (const auto& arguments : table) {
                const auto shown = run_show(folder, start(way, target("show"), arguments));
                CAPTURE(std::string{way.name});
                REQUIRE(shown.report);
                Strings expected{target("show")};
                expected.insert(expected.end(), arguments.begin(), arguments.end());
                CHECK(shown.report->arguments == expected);
            }
        }
    }

    TEST_CASE("arguments reach the target byte for byte without '--' too") {
        const TempFolder folder;
        const Strings arguments{"--", "-p", "", "--stock", "\xff"};
        Strings all{"--anywhere", target("show")};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const auto shown = run_show(folder, metalrun_command(all));
        REQUIRE(shown.report);
        all.erase(all.begin());
        CHECK(shown.report->arguments == all);
    }

    TEST_CASE("argument zero is the name as typed when PATH was searched") {
        const TempFolder folder;
        auto command = metalrun_command({"--anywhere", "show", "a"});
        command.environment = {"PATH=/nowhere:" + programs().targets};
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        CHECK(shown.report->arguments == Strings{"show", "a"});
        CHECK(shown.report->exe == target("show"));
    }

    TEST_CASE("open descriptors stay as they were and none is added") {
        const TempFolder folder;
        const std::vector<std::vector<int>> table{{}, {3}, {3, 7, 200}, {4, 5, 6, 7, 8, 9, 10}};
        for (const auto& way : kWays) {
            for (const auto& descriptors : table) {
                CAPTURE(std::string{way.name});
                auto command = start(way, target("show"));
                command.descriptors = descriptors;
                const auto state = folder.make_folder("state", 0700);
                command.environment.push_back("METALRUN_STATE_DIR=" + state);
                const auto shown = run_show(folder, command);
                REQUIRE(shown.report);
                std::vector<int> expected{0, 1, 2};
                expected.insert(expected.end(), descriptors.begin(), descriptors.end());
                CHECK(shown.report->descriptors == expected);
            }
        }
    }

    TEST_CASE("closed standard descriptors stay closed") {
        const TempFolder folder;
        const std::vector<std::vector<int>> table{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}};
        for (const auto& way : kWays) {
            for (const auto& closed : table) {
                CAPTURE(std::string{way.name});
                auto command = start(way, target("show"));
                command.environment.push_back("METALRUN_STATE_DIR=" +
                                              folder.make_folder("state", 0700));
                command.before_exec = [&closed] {
                    for (const int fd : closed) {
                        close(fd);
                    }
                };
                const auto shown = run_show(folder, command);
                REQUIRE(shown.report);
                std::vector<int> expected{0, 1, 2};
                for (const int fd : closed) {
                    std::erase(expected, fd);
                }
                CHECK(shown.report->descriptors == expected);
            }
        }
    }

    TEST_CASE("a refusal with closed standard error writes into no file") {
        const TempFolder folder;
        const auto profile = folder.write("broken.toml", "schema = 1\nnonsense = 2\n");
        const auto before = read_file(profile);
        auto command = metalrun_command({"--anywhere", "-p", profile, "--", target("show")});
        command.before_exec = [] {
            close(0);
            close(1);
            close(2);
        };
        const auto shown = run_show(folder, command);
        CHECK(shown.outcome.status() == 125);
        CHECK_FALSE(shown.report);
        CHECK(read_file(profile) == before);
    }

    TEST_CASE("signal mask and dispositions stay as they were") {
        const TempFolder folder;
        const std::vector<std::pair<std::vector<int>, std::vector<int>>> table{
            {{}, {}},
            {{SIGUSR1, SIGTERM}, {}},
            {{}, {SIGPIPE}},
            {{}, {SIGCHLD}},
            {{SIGCHLD, SIGINT, SIGRTMIN + 1}, {SIGHUP, SIGINT, SIGPIPE, SIGCHLD, SIGXFSZ}},
        };
        for (const auto& way : kWays) {
            for (const auto& [blocked, ignored] : table) {
                CAPTURE(std::string{way.name});
                const auto arrange = [&blocked, &ignored] {
                    sigset_t set;
                    sigemptyset(&set);
                    for (const int number : blocked) {
                        sigaddset(&set, number);
                    }
                    sigprocmask(SIG_SETMASK, &set, nullptr);
                    for (const int number : ignored) {
                        std::signal(number, SIG_IGN);
                    }
                };
                auto command = start(way, target("show"));
                command.before_exec = arrange;
                auto direct = command;
                direct.file = target("show");
                direct.arguments = {target("show")};
                const auto shown = run_show(folder, command);
                const auto plain = run_show(folder, direct);
                REQUIRE(shown.report);
                REQUIRE(plain.report);
                CHECK(shown.report->blocked == plain.report->blocked);
                CHECK(shown.report->ignored == plain.report->ignored);
                CHECK(shown.report->handled == plain.report->handled);
                for (const int number : ignored) {
                    CHECK(std::count(shown.report->ignored.begin(), shown.report->ignored.end(),
                                     number) == 1);
                }
            }
        }
    }

    TEST_CASE("umask, limits, groups and priority stay as they were") {
        const TempFolder folder;
        const auto arrange = [] {
            umask(0137);
            const struct rlimit files{.rlim_cur = 77, .rlim_max = 99};
            setrlimit(RLIMIT_NOFILE, &files);
            setpgid(0, 0);
            setpriority(PRIO_PROCESS, 0, 7);
        };
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            auto command = start(way, target("show"));
            command.before_exec = arrange;
            command.environment.push_back("METALRUN_STATE_DIR=" +
                                          folder.make_folder("state", 0700));
            auto direct = command;
            direct.file = target("show");
            direct.arguments = {target("show")};
            const auto shown = run_show(folder, command);
            const auto plain = run_show(folder, direct);
            REQUIRE(shown.report);
            REQUIRE(plain.report);
            const auto differs_by_process = [](const std::string& line) {
                return line.starts_with("pgid");
            };
            auto seen = shown.report->others;
            auto expected = plain.report->others;
            std::erase_if(seen, differs_by_process);
            std::erase_if(expected, differs_by_process);
            CHECK(seen == expected);
            CHECK(std::count(seen.begin(), seen.end(), "umask 137") == 1);
            CHECK(std::count(seen.begin(), seen.end(), "nofile 77 99") == 1);
            const auto group = "pgid " + std::to_string(shown.outcome.pid);
            CHECK(std::count(shown.report->others.begin(), shown.report->others.end(), group) == 1);
        }
    }

    TEST_CASE("the working folder stays, even one that was removed") {
        const TempFolder folder;
        const auto place = folder.make_folder("a place");
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            auto command = start(way, target("show"));
            command.directory = place;
            auto shown = run_show(folder, command);
            REQUIRE(shown.report);
            CHECK(shown.report->cwd == place);

            const auto doomed = folder.make_folder("doomed");
            command.directory = doomed;
            command.before_exec = [&doomed] { rmdir(doomed.c_str()); };
            shown = run_show(folder, command);
            CHECK(shown.outcome.status() == 0);
            CHECK(shown.report);
        }
    }

    TEST_CASE("standard input reaches the target unread") {
        auto command = metalrun_command({"--anywhere", "--", "/bin/cat"});
        command.input = std::string("first\nsecond\0third", 18);
        const auto outcome = run(command);
        CHECK(outcome.status() == 0);
        CHECK(outcome.out == command.input);
    }

    TEST_CASE("each of the 256 exit statuses is the target's own") {
        for (int status = 0; status < 256; ++status) {
            const auto outcome = run(metalrun_command(
                {"--anywhere", "--", target("exit_with"), std::to_string(status)}));
            CHECK(outcome.status() == status);
            CHECK(outcome.err.empty());
        }
    }

    TEST_CASE("exit statuses are the target's own for a stock start") {
        for (const int status : {0, 1, 2, 124, 125, 126, 127, 128, 255}) {
            const auto outcome = run(metalrun_command(
                {"--stock", "-q", "--", target("exit_with_static"), std::to_string(status)}));
            CHECK(outcome.status() == status);
            CHECK(outcome.err.empty());
        }
    }

    TEST_CASE("death by a signal is the target's own") {
        for (const auto& way : kWays) {
            for (const int number :
                 {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1,
                  SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGSYS}) {
                CAPTURE(std::string{way.name});
                CAPTURE(number);
                auto command = start(way, target("die_by"), {std::to_string(number)});
                command.before_exec = [] {
                    const struct rlimit none{.rlim_cur = 0, .rlim_max = 0};
                    setrlimit(RLIMIT_CORE, &none);
                };
                const auto outcome = run(command);
                CHECK(outcome.signal() == number);
            }
        }
    }

    TEST_CASE("a stock start leaves the environment as it was, entry by entry and in order") {
        const TempFolder folder;
        const Strings strange{"A=1",     "EMPTY=",      "B=\xff\xfe",
                              "A=2",     "=leading",    "NOEQUALS",
                              "NL=a\nb", "METAL=stays", "METALRUNX=stays"};
        for (const auto& way : {kWays[2], kWays[3]}) {
            CAPTURE(std::string{way.name});
            auto command = start(way, target("show"));
            command.environment.insert(command.environment.end(), strange.begin(), strange.end());
            command.environment.push_back("METALRUN_STATE_DIR=" +
                                          folder.make_folder("state", 0700));
            const auto shown = run_show(folder, command);
            REQUIRE(shown.report);
            CHECK(shown.report->environment == shown.given);
            CHECK_FALSE(shown.report->has_library(programs().shim));
        }
    }

    TEST_CASE("an empty environment is a valid one") {
        const TempFolder folder;
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            auto command = start(way, target("show"));
            if (!is_sanitized()) {
                command.environment.clear();
            }
            const auto shown = run_show(folder, command);
            CHECK(shown.outcome.status() == 0);
            CHECK(shown.report);
        }
    }

    TEST_CASE("an injected start adds exactly the variables of the contract") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        auto command = metalrun_command(
            {"--anywhere", "-p", "llama.cpp", "--children", "inherit", "--", target("show")});
        for (const auto* entry : {"A=1", "EMPTY=", "B=\xff", "A=2", "NOEQUALS"}) {
            command.environment.emplace_back(entry);
        }
        command.environment.push_back("METALRUN_STATE_DIR=" + state);
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        const auto& seen = shown.report->environment;
        CHECK(shown.report->has_library(programs().shim));
        CHECK(without(seen, shim_variables()) == shown.given);
        CHECK(seen.size() == shown.given.size() + shim_variables().size());
        CHECK(value_of(seen, "LD_PRELOAD") == programs().shim);
        CHECK(value_of(seen, "LUME_METAL_APPLE_FAMILY_MAX") == "1007");
        CHECK(value_of(seen, "LUME_METAL_MAX_THREADGROUP_MEMORY") == "0");
        CHECK(value_of(seen, "METALRUN_SHIM_HOOK") == "early");
        CHECK(value_of(seen, "METALRUN_SHIM_CHILDREN") == "inherit");
        CHECK(value_of(seen, "METALRUN_RECEIPT") ==
              state + "/" + std::to_string(shown.outcome.pid) + ".toml");
    }

    TEST_CASE("an injected start with stock children leaves no variable of ours in the target") {
        const TempFolder folder;
        auto command =
            metalrun_command({"--anywhere", "--children", "stock", "--", target("show")});
        for (const auto* entry : {"A=1", "EMPTY=", "B=\xff", "A=2", "NOEQUALS"}) {
            command.environment.emplace_back(entry);
        }
        command.environment.push_back("METALRUN_STATE_DIR=" + folder.make_folder("state", 0700));
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        CHECK(shown.report->has_library(programs().shim));
        CHECK(shown.report->environment == shown.given);
    }

    TEST_CASE("METALRUN_RECEIPT is not set where no receipt can be kept") {
        const TempFolder folder;
        auto command =
            metalrun_command({"--anywhere", "--children", "inherit", "--", target("show")});
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        CHECK_FALSE(value_of(shown.report->environment, "METALRUN_RECEIPT"));
        CHECK(value_of(shown.report->environment, "LD_PRELOAD") == programs().shim);
    }

    TEST_CASE("-e adds or changes one variable, -u takes one out, and the rest keeps its order") {
        const TempFolder folder;
        auto command = metalrun_command({"--stock", "-q", "-u", "B", "-u", "ABSENT", "-e", "C=new",
                                         "-e", "D=", "-e", "E=a=b", "-e", "F=one", "-e", "F=two",
                                         "--", target("show")});
        command.environment = without(command.environment, {"A", "B", "C"});
        command.environment.insert(command.environment.end(), {"A=1", "B=2", "C=3"});
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        const auto& seen = shown.report->environment;
        CHECK(without(seen, {"C", "D", "E", "F"}) == without(shown.given, {"B", "C"}));
        CHECK_FALSE(value_of(seen, "B"));
        CHECK(value_of(seen, "C") == "new");
        CHECK(value_of(seen, "D") == "");
        CHECK(value_of(seen, "E") == "a=b");
        CHECK(value_of(seen, "F") == "two");
        CHECK(without(seen, {"D", "E", "F"}).size() + 3 == seen.size());
    }

    TEST_CASE("inherited shim variables are removed whatever the decision") {
        const TempFolder folder;
        const Strings foreign{"LUME_METAL_APPLE_FAMILY_MAX=1003",
                              "LUME_METAL_MAX_THREADGROUP_MEMORY=1",
                              "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=7",
                              "LUME_METAL_SOMETHING_NEW=1",
                              "METALRUN_SHIM_HOOK=late",
                              "METALRUN_SHIM_CHILDREN=inherit",
                              "METALRUN_SHIM_VERBOSE=1",
                              "METALRUN_RECEIPT=/nowhere"};
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            auto command = start(way, target("show"));
            command.environment.insert(command.environment.end(), foreign.begin(), foreign.end());
            const auto shown = run_show(folder, command);
            REQUIRE(shown.report);
            // The rest is what was there before: PATH, and SHOW_REPORT behind the removed ones.
            auto expected = base_environment();
            expected.push_back(shown.given.back());
            CHECK(without(shown.report->environment, shim_variables()) == expected);
            for (const auto& entry : foreign) {
                CHECK(std::count(shown.report->environment.begin(), shown.report->environment.end(),
                                 entry) ==
                      (way.options.back() == "inherit" && entry == "METALRUN_SHIM_CHILDREN=inherit"
                           ? 1
                           : 0));
            }
        }
    }

    TEST_CASE(
        "metalrun makes no child and writes nothing on standard output before the target runs") {
        const TempFolder folder;
        const std::string tracer{"/usr/bin/strace"};
        if (!exists(tracer)) {
            MESSAGE("skipped: strace is not installed");
            return;
        }
        for (const auto& way : kWays) {
            CAPTURE(std::string{way.name});
            const auto trace = folder / "trace";
            auto command = start(way, target("exit_with"));
            command.arguments[0] = command.file;
            command.arguments.insert(command.arguments.begin(),
                                     {tracer, "-f", "-o", trace, "-s", "64"});
            command.file.clear();
            command.environment.push_back("METALRUN_STATE_DIR=" +
                                          folder.make_folder("state", 0700));
            const auto outcome = run(command);
            const auto lines = lines_of(read_file(trace));
            if (contains(outcome.err, "ptrace") || contains(outcome.err, "not permitted") ||
                lines.empty()) {
                MESSAGE("skipped: strace may not trace here");
                return;
            }
            CHECK(outcome.status() == 0);
            int execs = 0;
            for (const auto& line : lines) {
                const auto call =
                    line.substr(std::min(line.find_first_not_of("0123456789 "), line.size()));
                if (call.starts_with("execve(")) {
                    ++execs;
                }
                CAPTURE(call);
                for (const auto* forbidden :
                     {"clone(", "clone3(", "fork(", "vfork(", "write(1,", "writev(1,",
                      "pwrite64(1,", "sendfile(1,", "ptrace("}) {
                    CHECK_FALSE(call.starts_with(forbidden));
                }
            }
            CHECK(execs == 2);
        }
    }

} // TEST_SUITE
