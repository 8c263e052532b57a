// SPDX-License-Identifier: MIT
//
// The state folder: what `metalrun status` removes from it, what it never touches, and what another
// user can do to it.
#include "live.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

constexpr uid_t kOtherUser = 65534;
constexpr uid_t kThirdUser = 12345;

// Two pipes a process are more than many sessions allow by themselves.
std::size_t processes_to_start() {
    constexpr std::size_t kMost = 1000;
    constexpr std::size_t kSanitized = 100;
    constexpr rlim_t kOthers = 64;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur =
        std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 2 * kMost + kOthers));
    setrlimit(RLIMIT_NOFILE, &limit);
    const std::size_t room = (static_cast<std::size_t>(limit.rlim_cur) - kOthers) / 2;
    const std::size_t count = std::min(room, is_sanitized() ? kSanitized : kMost);
    MESSAGE("live processes: ", count);
    return count;
}

Strings files_in(const std::string& folder) {
    Strings names;
    Command command{.arguments = {"ls", "-A", folder}, .file = "/bin/ls"};
    return lines_of(run(command).out);
}

} // namespace

TEST_SUITE("exec.status_folder") {

    TEST_CASE("receipts of processes that are gone are removed: dead, zombie, number given away") {
        const TempFolder folder;
        const auto state = folder / "state";
        Live dead(state, stay());
        const Live zombie(state, stay());
        const Live live(state, stay({"--stock"}));
        REQUIRE(dead.is_there());
        REQUIRE(zombie.is_there());
        REQUIRE(live.is_there());
        dead.end();
        zombie.become_zombie();
        const auto text = read_file(state + "/" + live.name());
        const auto own = std::to_string(getpid()) + ".toml";
        const auto mine = replaced(text, "pid = " + std::to_string(live.pid()),
                                   "pid = " + std::to_string(getpid()));
        // Not only another number: both may have started in one tick of the clock.
        folder.write("state/" + own, replaced(mine, "start_time = ", "start_time = 1"), 0600);
        REQUIRE(files_in(state).size() == 4);
        const auto said = status_of(state, {"--json"});
        CHECK(said.status() == 0);
        CHECK(contains(said.out, "\"cleared\": 3"));
        CHECK(files_in(state) == Strings{live.name()});
    }

    TEST_CASE("starts that make the folder at the same moment all leave their receipts") {
        constexpr std::size_t kStarts = 3;
        const TempFolder folder;
        for (int round = 0; round < 20; ++round) {
            const auto state = folder / ("state" + std::to_string(round));
            std::vector<std::unique_ptr<Live>> all;
            for (std::size_t i = 0; i < kStarts; ++i) {
                all.push_back(std::make_unique<Live>(state, stay({"--stock"})));
            }
            for (const auto& live : all) {
                REQUIRE(live->is_there());
            }
            CHECK(files_in(state).size() == kStarts);
        }
    }

    TEST_CASE("a start that is ended while it leaves its receipt leaves none that stays") {
        if (is_sanitized() || !exists("/usr/bin/strace")) {
            MESSAGE("skipped: no strace");
            return;
        }
        for (const std::string moment :
             {"fchmod:signal=KILL", "?chmod:signal=KILL", "umask:signal=KILL:when=1",
              "umask:signal=KILL:when=2", "umask:signal=KILL:when=3", "umask:signal=KILL:when=4",
              "write:signal=KILL"}) {
            CAPTURE(moment);
            const TempFolder folder;
            const auto state = folder / "state";
            Command command;
            command.arguments = {"/usr/bin/strace",
                                 "-qq",
                                 "-o",
                                 folder / "trace",
                                 "-e",
                                 "inject=" + moment,
                                 programs().metalrun,
                                 "--stock",
                                 "-q",
                                 "--",
                                 target("show")};
            command.environment = base_environment();
            command.environment.push_back("METALRUN_STATE_DIR=" + state);
            command.before_exec = [] { umask(0777); };
            static_cast<void>(run(command));
            chmod((folder / "trace").c_str(), 0600);
            if (!contains(read_file(folder / "trace"), "execve(")) {
                MESSAGE("skipped: processes cannot be traced here");
                return;
            }
            const auto said = status_of(state);
            CHECK(said.status() == 0);
            CHECK_MESSAGE(said.err.empty(), said.err);
            CHECK((!exists(state) || files_in(state).empty()));
        }
    }

    TEST_CASE("one that was begun and never finished is removed with its process") {
        const TempFolder folder;
        const auto state = folder / "state";
        Live live(state, stay());
        REQUIRE(live.is_there());
        const auto text = read_file(state + "/" + live.name());
        folder.write("state/" + live.name(), text.substr(0, 100), 0600);
        const auto said = status_of(state);
        CHECK(contains(said.err, "is not taken for a receipt: "));
        CHECK(files_in(state) == Strings{live.name()});
        live.end();
        CHECK(status_of(state).err.empty());
        CHECK(files_in(state).empty());
    }

    TEST_CASE("what is not receipt-shaped is named and left alone, whatever it says") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        Live live(state, stay({"--stock"}));
        REQUIRE(live.is_there());
        const auto text = read_file(state + "/" + live.name());
        live.end();
        const auto victim = folder.write("victim", text, 0600);
        REQUIRE(symlink(victim.c_str(), (state + "/2000000001.toml").c_str()) == 0);
        REQUIRE(link(victim.c_str(), (state + "/2000000002.toml").c_str()) == 0);
        REQUIRE(mkfifo((state + "/2000000003.toml").c_str(), 0600) == 0);
        folder.make_folder("state/2000000004.toml");
        folder.write("state/2000000005.toml", text, 0644);
        folder.write("state/2000000006.toml", "schema = 1\n", 0600);
        folder.write("state/2000000007.toml", std::string(5U << 20U, '#'), 0600);
        folder.write("state/2000000008.toml", text, 0600); // of the process above
        folder.write("state/notes.toml", text, 0600);
        folder.write("state/01.toml", text, 0600);
        folder.write("state/-1.toml", text, 0600);
        folder.write("state/99999999999.toml", text, 0600);
        const auto before = files_in(state).size();
        const auto said = status_of(state);
        CHECK(said.status() == 0);
        const auto notes = lines_of(said.err);
        CHECK(notes.size() == 7);
        for (const auto* part : {"it is a symbolic link", "it has more than one name",
                                 "it is no regular file", "it is a folder", "its mode is not 0600",
                                 "the receipt is not whole", "it is too large"}) {
            CHECK_MESSAGE(contains(said.err, part), std::string(part));
        }
        // The receipt of the dead process, and the one that was written for no process at all.
        CHECK(files_in(state).size() == before - 2);
        CHECK(read_file(victim) == text);
        CHECK(status_of(state, {"-q"}).err.empty());
    }

    TEST_CASE("a process without receipt, and a number that is none") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        const auto said = status_of(state, {std::to_string(getpid())});
        CHECK(said.status() == 1);
        CHECK(said.out == "no live process " + std::to_string(getpid()) + " has a receipt in '" +
                              state + "'\n");
        for (const auto* word : {"0", "-1", "01", "1x", "", "99999999999"}) {
            CAPTURE(std::string(word));
            CHECK(status_of(state, {"--", word}).status() == 125);
        }
    }

    TEST_CASE("two users: what one puts in the other's way is neither read nor followed nor "
              "removed, and blocks nothing") {
        const TempFolder folder;
        if (!needs_root("two users")) {
            return;
        }
        chmod(folder.path().c_str(), 01777); // as /tmp
        const auto become = [](uid_t user) {
            return [user] {
                if (setgid(user) != 0 || setuid(user) != 0) {
                    _exit(99);
                }
            };
        };
        // The first user has a process with a receipt.
        const auto own = folder / "own";
        Command start = metalrun_command({"--anywhere", "-q", "--", "/bin/sh", "-c", "exit 0"});
        start.environment.push_back("METALRUN_STATE_DIR=" + own);
        start.before_exec = become(kOtherUser);
        const auto first = run(start);
        CHECK(first.status() == 0);
        const auto receipt = own + "/" + std::to_string(first.pid) + ".toml";
        REQUIRE(exists(receipt));

        SUBCASE("the other cannot read it, list the folder or remove from it") {
            auto look = status_command(own);
            look.before_exec = become(kThirdUser);
            const auto said = run(look);
            CHECK(said.status() == 125);
            CHECK_FALSE(contains(said.out + said.err, std::to_string(first.pid)));
            CHECK(exists(receipt));
        }
        SUBCASE("the other cannot write into it by way of the shim") {
            const auto before = read_file(receipt);
            Command forge{.arguments = {target("exit_with"), "0"}};
            forge.environment.insert(forge.environment.end(), {"LD_PRELOAD=" + programs().shim,
                                                               "METALRUN_RECEIPT=" + receipt,
                                                               "LUME_METAL_APPLE_FAMILY_MAX=1007"});
            for (const uid_t user : {kThirdUser, uid_t{0}}) {
                forge.before_exec = become(user);
                CHECK(run(forge).status() == 0);
            }
            CHECK(read_file(receipt) == before);
        }
        SUBCASE("a folder that the other made first, or a link, is not used") {
            const auto foreign = folder.make_folder("foreign", 0777);
            REQUIRE(chown(foreign.c_str(), kThirdUser, kThirdUser) == 0);
            const auto link = folder.make_link(own, "link");
            REQUIRE(lchown(link.c_str(), kThirdUser, kThirdUser) == 0);
            for (const auto& place : {foreign, link}) {
                CAPTURE(place);
                Command again = start;
                again.environment.back() = "METALRUN_STATE_DIR=" + place;
                CHECK(run(again).status() == 0);
                auto look = status_command(place);
                look.before_exec = become(kOtherUser);
                CHECK(run(look).status() == 125);
            }
            CHECK(files_in(foreign).empty());
            CHECK(files_in(own).size() == 1);
        }
        SUBCASE("files of the other in the own folder are named and left") {
            const auto planted = folder.write("own/2000000001.toml", read_file(receipt), 0600);
            REQUIRE(chown(planted.c_str(), kThirdUser, kThirdUser) == 0);
            auto look = status_command(own);
            look.before_exec = become(kOtherUser);
            const auto said = run(look);
            CHECK(said.status() == 0);
            CHECK(contains(said.err, "another user owns it"));
            CHECK(exists(planted));
            CHECK_FALSE(exists(receipt)); // of the process that is gone
        }
        SUBCASE("the other's file under a number to come is replaced by the start") {
            start.before_exec = [&own, &become] {
                const auto path = own + "/" + std::to_string(getpid()) + ".toml";
                const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
                if (file < 0 || fchown(file, kThirdUser, kThirdUser) != 0) {
                    _exit(99);
                }
                become(kOtherUser)();
            };
            const auto second = run(start);
            CHECK(second.status() == 0);
            struct stat status{};
            const auto path = own + "/" + std::to_string(second.pid) + ".toml";
            REQUIRE(lstat(path.c_str(), &status) == 0);
            CHECK(status.st_uid == kOtherUser);
            CHECK((status.st_mode & 07777U) == 0600);
        }
    }

    TEST_CASE("a thousand live processes, and no receipt left when they are gone") {
        const std::size_t count = processes_to_start();
        const TempFolder folder;
        const auto state = folder / "state";
        std::vector<std::unique_ptr<Live>> processes;
        for (std::size_t i = 0; i < count; ++i) {
            processes.push_back(std::make_unique<Live>(state, stay()));
        }
        for (const auto& process : processes) {
            REQUIRE(process->is_there());
        }
        const auto said = lines_of(status_of(state).out);
        CHECK(said.size() == count);
        std::size_t told = 0;
        for (const auto& line : said) {
            told += static_cast<std::size_t>(contains(line, " stock-by-shim: "));
        }
        CHECK(told == count);
        processes.clear();
        CHECK(files_in(state).size() == count);
        CHECK(status_of(state).status() == 0);
        CHECK(files_in(state).empty());
    }

} // TEST_SUITE
