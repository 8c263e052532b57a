// SPDX-License-Identifier: MIT
//
// To which files the shim appends: those the launcher makes, and no others. The program always goes
// on.
#include "process.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace shim_test;

namespace {

constexpr uid_t kOtherUser = 65534;

Outcome run_with(const std::string& receipt, std::function<void()> before_exec = {}) {
    return run({.arguments = {LINKED_CLIENT_PROGRAM},
                .environment = {"LUME_METAL_APPLE_FAMILY_MAX=1009", "METALRUN_RECEIPT=" + receipt},
                .preload = {SHIM_LIBRARY},
                .before_exec = std::move(before_exec)});
}

void check_goes_on(const char* name, const Outcome& outcome) {
    CAPTURE(std::string{name});
    CHECK(outcome.status == 0);
    CHECK(outcome.out.starts_with("yes to 1005 1006 1007 1008 1009 3003, memory 65536"));
    CHECK(outcome.err.empty());
    std::printf("%-38s not written, the program goes on\n", name);
}

} // namespace

TEST_SUITE("shim.receipt_file") {

    TEST_CASE("a regular file of mode 0600 with one name is appended to") {
        const Folder folder;
        const auto path = folder.make_receipt();
        std::ofstream(path) << "schema = 1\n\n";
        const auto outcome = run_with(path);
        const auto text = read_file(path);
        CHECK(outcome.status == 0);
        CHECK(text.starts_with("schema = 1\n\n[[event]]\npid = " + std::to_string(outcome.pid) +
                               "\nstate = \"loaded\"\n"));
        CHECK(events_in(text) == "loaded, active, active");
        std::printf("%-38s written\n", "regular, 0600");
    }

    TEST_CASE("other modes are refused") {
        for (const mode_t mode : {0644U, 0640U, 0660U, 0606U, 0700U, 0200U, 04600U}) {
            const Folder folder;
            const auto path = folder.make_receipt();
            REQUIRE(chmod(path.c_str(), mode) == 0);
            check_goes_on("another mode", run_with(path));
            chmod(path.c_str(), 0600);
            CHECK(read_file(path).empty());
        }
    }

    TEST_CASE("a second name, a symbolic link, a missing file and a folder are refused") {
        const Folder folder;
        const auto path = folder.make_receipt();
        std::filesystem::create_symlink(path, folder / "link");
        check_goes_on("symbolic link", run_with(folder / "link"));
        std::filesystem::create_hard_link(path, folder / "second");
        check_goes_on("hard link", run_with(path));
        CHECK(read_file(path).empty());
        check_goes_on("missing", run_with(folder / "missing"));
        CHECK_FALSE(std::filesystem::exists(folder / "missing"));
        check_goes_on("folder", run_with(folder / ""));
        check_goes_on("device", run_with("/dev/full"));
        check_goes_on("empty path", run_with(""));
        check_goes_on("too long a path", run_with("/" + std::string(5000, 'x')));
    }

    TEST_CASE("a FIFO is refused without waiting, with and without a reader") {
        const Folder folder;
        const auto path = folder / "fifo";
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
        check_goes_on("FIFO without a reader", run_with(path));
        const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        REQUIRE(reader >= 0);
        check_goes_on("FIFO with a reader", run_with(path));
        char byte = 0;
        CHECK(read(reader, &byte, 1) == 0);
        close(reader);
    }

    TEST_CASE("a relative path is refused, for the program may change its folder") {
        const Folder folder;
        const auto path = folder.make_receipt();
        const auto directory = std::filesystem::path(path).parent_path();
        check_goes_on("relative path", run_with("receipt.toml", [&directory] {
                          if (chdir(directory.c_str()) != 0) {
                              _exit(99);
                          }
                      }));
        CHECK(read_file(path).empty());
    }

    TEST_CASE("a file of another user is refused") {
        const Folder folder;
        const auto path = folder.make_receipt();
        if (chown(path.c_str(), kOtherUser, kOtherUser) != 0) {
            std::printf("%-38s skipped: it takes root\n", "another user's");
            return;
        }
        check_goes_on("another user's", run_with(path));
        CHECK(read_file(path).empty());
    }

    TEST_CASE("a limit of file sizes is respected, for the signal would end the program") {
        if (COUNTS_LINES) {
            std::printf("%-38s skipped: counting lines writes files itself\n",
                        "limit of file sizes");
            return;
        }
        const Folder folder;
        const auto path = folder.make_receipt();
        // The outputs are files here, so the limit leaves room for a line but not for a record.
        std::ofstream(path) << std::string(300, '\n');
        const auto outcome = run_with(path, [] {
            const rlimit limit{.rlim_cur = 310, .rlim_max = 310};
            if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
                _exit(99);
            }
        });
        check_goes_on("limit of file sizes", outcome);
        CHECK(read_file(path).size() == 300);
    }

} // TEST_SUITE
