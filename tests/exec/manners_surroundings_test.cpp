// SPDX-License-Identifier: MIT
//
// Starts where something is missing, full or small: descriptors, folders, variables, memory, disk.
// Either the target starts as it would have, or one sentence and a status say why not.
#include "harness.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

const std::vector<Strings> kWays{
    {"--anywhere"}, {"--anywhere", "--children", "inherit"}, {"--stock", "-q"}, {"-q"}};

Command start(const Strings& options, const std::string& program, const Strings& arguments = {}) {
    Strings words = options;
    words.insert(words.end(), {"--", program});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return metalrun_command(words);
}

/// 7 by `exit_with`, behind metalrun in each way; `arrange` changes the command before.
void check_all_start(const std::function<void(Command&)>& arrange) {
    for (const auto& way : kWays) {
        CAPTURE(way);
        auto command = start(way, target("exit_with"), {"7"});
        arrange(command);
        const auto outcome = run(command);
        CHECK_MESSAGE(outcome.status() == 7, outcome.err);
        CHECK(outcome.out.empty());
        CHECK(outcome.err.empty());
    }
}

void set_limit(__rlimit_resource kind, rlim_t value) {
    const struct rlimit limit{.rlim_cur = value, .rlim_max = value};
    setrlimit(kind, &limit);
}

void become_nobody() {
    constexpr uid_t kNobody = 65534;
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) {
        _exit(99);
    }
}

Strings files_in(const std::string& folder) {
    Strings texts;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        texts.push_back(read_file(entry.path().string()));
    }
    return texts;
}

} // namespace

TEST_SUITE("exec.manners_surroundings") {

    TEST_CASE("any of the standard descriptors may be closed: the start, and the refusal") {
        const TempFolder folder;
        for (unsigned closed = 1; closed < 8; ++closed) {
            CAPTURE(closed);
            const auto close_some = [closed] {
                for (int fd = 0; fd < 3; ++fd) {
                    if ((closed >> static_cast<unsigned>(fd) & 1U) != 0) {
                        close(fd);
                    }
                }
            };
            const auto state = folder.make_folder("state", 0700);
            for (const Strings& way : {kWays[0], kWays[1], Strings{"--stock"}, Strings{"-v"}}) {
                auto command = start(way, target("exit_with"), {"7"});
                command.environment.push_back("METALRUN_STATE_DIR=" + state);
                command.before_exec = close_some;
                CHECK(run(command).status() == 7);
            }
            // What is written for standard error must not end up in a file of ours.
            const auto receipts = files_in(state);
            CHECK_FALSE(receipts.empty());
            for (const auto& receipt : receipts) {
                CHECK(receipt.starts_with("# metalrun: "));
                CHECK_FALSE(contains(receipt, "note: "));
            }
            std::filesystem::remove_all(state);
            auto refused = start({"--anywhere"}, target("show_static"));
            refused.before_exec = close_some;
            CHECK(run(refused).status() == 126);
            refused = metalrun_command({"--no-such-option"});
            refused.before_exec = close_some;
            CHECK(run(refused).status() == 125);
        }
    }

    TEST_CASE("in a folder that was removed, only what is relative to it fails") {
        const TempFolder folder;
        const auto arrange = [&folder](Command& command) {
            const auto doomed = folder.make_folder("doomed");
            command.directory = doomed;
            command.before_exec = [doomed] { rmdir(doomed.c_str()); };
        };
        check_all_start(arrange);
        check_all_start([&](Command& command) {
            arrange(command);
            command.environment.emplace_back("PATH=relative:.:/nowhere");
            command.environment.emplace_back("LD_PRELOAD=");
        });
        auto command = start({"--anywhere"}, "./prog");
        arrange(command);
        CHECK(run(command).status() == 127);
        command = metalrun_command({"--anywhere", "--shim", "shim.so", "--", target("exit_with")});
        arrange(command);
        const auto outcome = run(command);
        CHECK(outcome.status() == 125);
        CHECK(contains(outcome.err, "the current directory"));
    }

    TEST_CASE("an environment of a megabyte reaches the target whole") {
        const TempFolder folder;
        for (const auto& [count, size] :
             {std::pair{10, 100'000}, std::pair{1000, 1000}, std::pair{20'000, 30}}) {
            for (const auto& way : {kWays[0], kWays[2]}) {
                CAPTURE(count);
                auto command = start(way, target("show"));
                for (int i = 0; i < count; ++i) {
                    command.environment.push_back("BIG" + std::to_string(i) + "=" +
                                                  std::string(static_cast<std::size_t>(size), 'x'));
                }
                const auto shown = run_show(folder, command);
                REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                CHECK(shown.report->environment == shown.given);
            }
        }
    }

    // The kernel gives strings a quarter of the stack limit, 128 KiB at least.
    TEST_CASE("what metalrun itself just gets, but the target with the shim no more: 126") {
        if (is_sanitized()) {
            MESSAGE("skipped: a sanitized program needs a larger stack");
            return;
        }
        const auto started = [](const Strings& options,
                                std::size_t size) -> std::optional<Outcome> {
            auto command = start(options, target("exit_with"), {"7"});
            command.environment.push_back("A=" + std::string(60'000, 'x'));
            command.environment.push_back("B=" + std::string(size, 'x'));
            command.before_exec = [] { set_limit(RLIMIT_STACK, 512U * 1024U); };
            try {
                return run(command);
            } catch (const std::runtime_error&) {
                return std::nullopt; // metalrun itself was too much
            }
        };
        std::size_t fits = 40'000;
        std::size_t too_much = 80'000;
        REQUIRE(started(kWays[0], fits));
        REQUIRE_FALSE(started(kWays[0], too_much));
        while (too_much - fits > 1) {
            const std::size_t middle = (fits + too_much) / 2;
            (started(kWays[0], middle) ? fits : too_much) = middle;
        }
        const auto outcome = started(kWays[0], fits);
        REQUIRE(outcome);
        CHECK(outcome->status() == 126);
        CHECK(contains(outcome->err, "Argument list too long"));
        CHECK(contains(outcome->err, "help: the arguments and the environment together"));
        // Without the shim's variables there is room.
        const auto stock = started(kWays[2], fits - 100);
        REQUIRE(stock);
        CHECK(stock->status() == 7);
    }

    TEST_CASE("PATH, HOME and TMPDIR may be missing, empty, relative or nowhere") {
        const TempFolder folder;
        folder.write("file", "");
        for (const Strings& variables :
             {Strings{}, Strings{"PATH="}, Strings{"HOME="}, Strings{"HOME=relative/home"},
              Strings{"HOME=/nowhere"}, Strings{"HOME=" + (folder / "file")},
              Strings{"HOME=/dev/null"}, Strings{"TMPDIR=/nowhere", "PATH=relative", "HOME=/"},
              Strings{"XDG_CONFIG_HOME=relative", "XDG_RUNTIME_DIR=relative"},
              Strings{"XDG_CONFIG_HOME=" + (folder / "file"),
                      "XDG_RUNTIME_DIR=" + (folder / "file")}}) {
            CAPTURE(variables);
            check_all_start([&](Command& command) {
                command.environment = without(base_environment(), {"PATH"});
                command.environment.insert(command.environment.end(), variables.begin(),
                                           variables.end());
            });
        }
    }

    TEST_CASE("a home of another user that may not be read does not matter") {
        if (!needs_root("a folder that another user may not read")) {
            return;
        }
        const TempFolder folder;
        chmod(folder.path().c_str(), 0755);
        folder.write("home/.config/metalrun/default.toml", "this is no profile\n");
        chmod((folder / "home").c_str(), 0700);
        check_all_start([&](Command& command) {
            command.environment.push_back("HOME=" + (folder / "home"));
            command.before_exec = become_nobody;
        });
    }

    TEST_CASE("without arguments at all, not even a name, the usage is the answer") {
        auto command = metalrun_command({});
        command.arguments.clear();
        const auto outcome = run(command);
        CHECK(outcome.status() == 125);
        CHECK(outcome.out.empty());
        CHECK(contains(outcome.err, "metalrun [OPTION...] [--] TARGET [ARGUMENT...]"));
    }

    // With three, no library can be opened either: it is ld.so's failure, of both programs.
    TEST_CASE("few descriptors are enough, and too few are told") {
        if (is_sanitized()) {
            MESSAGE("skipped: a sanitized program opens files of its own");
            return;
        }
        for (rlim_t most = 0; most <= 8; ++most) {
            CAPTURE(most);
            for (const auto& way : {kWays[0], kWays[2]}) {
                auto command = start(way, target("exit_with"), {"7"});
                command.before_exec = [most] { set_limit(RLIMIT_NOFILE, most); };
                auto plain = command;
                plain.file = target("exit_with");
                plain.arguments = {"exit_with", "7"};
                const int alone = run(plain).status();
                const auto outcome = run(command);
                CHECK(outcome.signal() == 0);
                if (most >= 5) {
                    CHECK_MESSAGE(outcome.status() == 7, outcome.err);
                } else if (outcome.status() != 7) {
                    CHECK_MESSAGE((alone != 7 || outcome.status() >= 125), outcome.err);
                    CHECK_FALSE(outcome.err.empty());
                }
            }
        }
    }

    TEST_CASE("little memory ends in the target or in a sentence, never in a crash") {
        if (is_sanitized()) {
            MESSAGE("skipped: a sanitized program needs all the addresses there are");
            return;
        }
        constexpr rlim_t kMega = 1U << 20U;
        for (rlim_t size = 1; size <= 64; size += size < 16 ? 1 : 8) {
            CAPTURE(size);
            for (const auto& way : {kWays[0], kWays[2]}) {
                auto command = start(way, target("exit_with"), {"7"});
                command.before_exec = [size] { set_limit(RLIMIT_AS, size * kMega); };
                auto itself = metalrun_command({"--version"});
                itself.before_exec = command.before_exec;
                if (run(itself).status() != 0) {
                    continue; // the kernel or ld.so ended it
                }
                const auto outcome = run(command);
                CHECK(outcome.signal() == 0);
                CHECK_MESSAGE((outcome.status() == 7 || !outcome.err.empty()), outcome.status());
                if (size >= 32) {
                    CHECK_MESSAGE(outcome.status() == 7, outcome.err);
                }
            }
        }
    }

    TEST_CASE("a umask of 0777 is the target's, not the receipt's") {
        for (const auto& way : {kWays[0], kWays[2]}) {
            const TempFolder folder;
            const auto home = folder.make_folder("home");
            auto command = start(way, target("show"));
            command.environment.push_back("HOME=" + home);
            command.before_exec = [] { umask(0777); };
            // The report is made by show itself, under that umask; root reads it all the same.
            const auto shown = run_show(folder, command);
            CHECK(shown.outcome.status() == 0);
            const auto state = home + "/.local/state/metalrun";
            const auto receipt = state + "/" + std::to_string(shown.outcome.pid) + ".toml";
            struct stat status{};
            REQUIRE(stat(receipt.c_str(), &status) == 0);
            CHECK((status.st_mode & 07777U) == 0600);
            REQUIRE(stat(state.c_str(), &status) == 0);
            CHECK((status.st_mode & 07777U) == 0700);
            chmod((folder / "show-report").c_str(), 0600);
            const auto report = parse_report(read_file(folder / "show-report"));
            CHECK(std::count(report.others.begin(), report.others.end(), "umask 777") == 1);
        }
    }

    TEST_CASE("a full disk costs the receipt, not the start") {
        if (!needs_root("a small file system")) {
            return;
        }
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        if (mount("none", state.c_str(), "tmpfs", 0, "size=4k,mode=0700") != 0) {
            MESSAGE("skipped: no file system can be mounted here");
            return;
        }
        folder.write("state/filler", std::string(4096, 'x'));
        check_all_start([&](Command& command) {
            command.environment.push_back("METALRUN_STATE_DIR=" + state);
        });
        const auto left = files_in(state);
        umount(state.c_str());
        CHECK(left.size() == 1); // no half receipt
    }

    TEST_CASE("without /proc, metalrun says what it lacks: 125") {
        if (!needs_root("a file system without /proc")) {
            return;
        }
        if (is_sanitized()) {
            MESSAGE("skipped: a sanitizer needs /proc before metalrun does");
            return;
        }
        auto command = start({"--anywhere"}, target("exit_with"), {"7"});
        command.before_exec = [] {
            if (unshare(CLONE_NEWNS) != 0 ||
                mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                mount("none", "/proc", "tmpfs", MS_RDONLY, nullptr) != 0) {
                _exit(77);
            }
        };
        const auto outcome = run(command);
        if (outcome.status() == 77) {
            MESSAGE("skipped: /proc cannot be taken away here");
            return;
        }
        CHECK(outcome.status() == 125);
        CHECK(outcome.err.starts_with("metalrun: error: "));
    }

} // TEST_SUITE
