// SPDX-License-Identifier: MIT
//
// Surroundings that would hurt the target or mislead the user: limits, closed pipes, unreadable
// programs, env in odd places, texts that a terminal would act on. Each case was a fault once.
#include "harness.hpp"

#include <csignal>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

TEST_SUITE("exec.hostile") {

    TEST_CASE("a file-size limit of nothing does not end the start") {
        const TempFolder folder;
        auto command = metalrun_command({"--stock", "-q", "--", target("exit_with"), "7"});
        command.environment.push_back("METALRUN_STATE_DIR=" + folder.make_folder("state", 0700));
        command.before_exec = [] {
            const struct rlimit none{.rlim_cur = 0, .rlim_max = 0};
            setrlimit(RLIMIT_FSIZE, &none);
        };
        const auto outcome = run(command);
        CHECK(outcome.signal() == 0);
        CHECK(outcome.status() == 7);
    }

    TEST_CASE("a closed pipe at standard error does not end the start, nor a usage error") {
        for (const bool usage : {false, true}) {
            auto command = usage ? metalrun_command({"--no-such-option"})
                                 : metalrun_command({"--", target("exit_with"), "7"});
            command.before_exec = [] {
                int ends[2];
                if (pipe(ends) == 0) {
                    close(ends[0]);
                    dup2(ends[1], STDERR_FILENO);
                    close(ends[1]);
                }
            };
            const auto outcome = run(command);
            CHECK(outcome.signal() == 0);
            CHECK(outcome.status() == (usage ? 125 : 7));
        }
    }

    TEST_CASE("a result that cannot be written is a failure") {
        auto command = metalrun_command({"--version"});
        command.before_exec = [] {
            const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
            dup2(full, STDOUT_FILENO);
        };
        const auto outcome = run(command);
        CHECK(outcome.status() == 125);
        CHECK(contains(outcome.err, "cannot write to standard output"));
    }

    TEST_CASE("env further down the chain is carried out, too, and keeps no shim to itself") {
        const TempFolder folder;
        folder.write("inner", "#!/usr/bin/env show\n", 0755);
        const auto outer = folder.write("outer", "#!" + (folder / "inner") + "\n", 0755);
        for (const auto* children : {"stock", "inherit"}) {
            auto command = metalrun_command({"--anywhere", "--children", children, "--", outer});
            command.environment[0] = "PATH=" + programs().targets + ":/usr/bin:/bin";
            const auto shown = run_show(folder, command);
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->has_library(programs().shim));
        }
    }

    TEST_CASE("a program that starts another is told the right way round") {
        const auto outcome = run(metalrun_command({"--anywhere", "--children", "stock", "--",
                                                   "/usr/bin/nohup", target("exit_with"), "7"}));
        CHECK(outcome.status() == 126);
        CHECK(contains(outcome.err, "nohup metalrun -- " + target("exit_with")));
        const auto stock = run(
            metalrun_command({"--stock", "-q", "--", "/usr/bin/env", target("exit_with"), "7"}));
        CHECK(stock.status() == 7);
    }

    TEST_CASE("what may be run but not read is judged unreadable, and runs stock") {
        if (!needs_root("a program that another user may only execute")) {
            return;
        }
        const TempFolder folder;
        chmod(folder.path().c_str(), 0755);
        const auto program = folder.copy(target("exit_with_static"), "only-execute", 0111);
        const auto as_nobody = [](Strings arguments) {
            auto command = metalrun_command(std::move(arguments));
            command.before_exec = [] {
                constexpr uid_t kNobody = 65534;
                if (setgid(kNobody) != 0 || setuid(kNobody) != 0) {
                    _exit(99);
                }
            };
            return run(command);
        };
        CHECK(as_nobody({"--stock", "-q", "--", program, "7"}).status() == 7);
        const auto refused = as_nobody({"--anywhere", "--", program, "7"});
        CHECK(refused.status() == 126);
        CHECK(contains(refused.err, "may be run, but not read"));
    }

    TEST_CASE("texts of a profile reach the terminal escaped") {
        const TempFolder folder;
        const auto profile = folder.write(
            "hostile.toml",
            "schema = 1\ndescription = \"\\u001b[31m\"\n[metal]\napple_family = "
            "\"apple7\"\n[workload]\nstatus = \"unsafe\"\nreason = \"\\u001b]0;x\\u0007\"\n");
        for (const Strings& arguments :
             {Strings{"--anywhere", "-p", profile, "--", target("show")},
              Strings{"profile", "show", profile},
              Strings{"-n", "--anywhere", "-p", profile, "--", target("show")}}) {
            const auto outcome = run(metalrun_command(arguments));
            CHECK_FALSE(contains(outcome.out + outcome.err, "\x1b"));
            CHECK(contains(outcome.out + outcome.err, "\\x1b]0;x"));
        }
    }

    TEST_CASE("a list of variables has a limit") {
        const TempFolder folder;
        std::string text = "schema = 1\n[environment.set]\n";
        for (int i = 0; i < 3000; ++i) {
            text += "K" + std::to_string(i) + " = \"v\"\n";
        }
        const auto outcome = run(metalrun_command(
            {"--stock", "-p", folder.write("long.toml", text), "--", target("exit_with"), "7"}));
        CHECK(outcome.status() == 125);
        CHECK(contains(outcome.err, "at most 2000"));
    }

    TEST_CASE("an inherited LD_PRELOAD keeps what ld.so itself replaces, and the entry it reads") {
        const TempFolder folder;
        auto command = metalrun_command({"--stock", "-q", "--", target("show")});
        command.environment.push_back("LD_PRELOAD=$ORIGIN/../nowhere.so");
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        CHECK(value_of(shown.report->environment, "LD_PRELOAD") == "$ORIGIN/../nowhere.so");
        command.environment.push_back("LD_PRELOAD=/nowhere/last.so");
        const auto twice = run_show(folder, command);
        REQUIRE(twice.report);
        CHECK(value_of(twice.report->environment, "LD_PRELOAD") == "/nowhere/last.so");
    }

    TEST_CASE("host facts come from a regular file of a sane size") {
        for (const char* path : {"/dev/null", "/dev/zero"}) {
            const auto outcome =
                run(metalrun_command({"check", "--host-facts", path, target("show")}));
            CHECK(outcome.status() == 125);
            CHECK(contains(outcome.err, "no regular file"));
        }
    }

} // TEST_SUITE
