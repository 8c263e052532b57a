// SPDX-License-Identifier: MIT
#include "elf_builder.hpp"
#include "system/fake.hpp"
#include "target/walk.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using target::Wanted;
using tests::make_elf;
using Paths = std::vector<std::string>;

namespace {

// A Mach-O header without anything behind it: too damaged to tell what it is.
const std::string kDamaged("\xcf\xfa\xed\xfe\x0c\x00\x00\x01", 8);

target::Walk walk(FakeSystem& system, const std::string& folder, Wanted wanted = Wanted::programs) {
    return target::walk(system, folder, wanted, {});
}

} // namespace

TEST_SUITE("target.walk") {
    TEST_CASE("programs come in the order of their paths' bytes") {
        FakeSystem system;
        for (const char* path : {"/t/b", "/t/a/z", "/t/a-z", "/t/a.z", "/t/B", "/t/\xff", "/t/~"}) {
            system.add_program(path, make_elf());
        }
        CHECK(walk(system, "/t").programs ==
              Paths{"/t/B", "/t/a-z", "/t/a.z", "/t/a/z", "/t/b", "/t/~", "/t/\xff"});
    }

    TEST_CASE("texts, scripts, libraries and special files are no programs") {
        FakeSystem system;
        system.add_file("/t/text", "some words");
        system.add_program("/t/script", "#!/bin/sh\n");
        system.add_file("/t/empty", "");
        system.add_special("/t/fifo");
        system.add_program("/t/damaged", kDamaged);
        system.add_program("/t/program", make_elf());
        const auto found = walk(system, "/t");
        CHECK(found.programs == Paths{"/t/damaged", "/t/program"});
        CHECK(found.files == 5);
        CHECK(found.skipped == 3);
        CHECK_FALSE(system.was_asked("open /t/fifo"));
        CHECK_FALSE(system.was_asked("open /t/empty"));
        CHECK(walk(system, "/t", Wanted::macos_programs).programs == Paths{"/t/damaged"});
    }

    TEST_CASE("links are not followed: neither out of the folder, nor round in it, nor twice") {
        FakeSystem system;
        system.add_program("/outside/program", make_elf());
        system.add_program("/t/program", make_elf());
        system.add_link("/t/again", "program");
        system.add_link("/t/loop", ".");
        system.add_link("/t/out", "/outside");
        system.add_link("/t/out-program", "/outside/program");
        system.add_link("/t/nowhere", "/absent");
        const auto found = walk(system, "/t");
        CHECK(found.programs == Paths{"/t/program"});
        CHECK(found.unread.empty());
    }

    TEST_CASE("what cannot be read is told, and the rest is looked at") {
        FakeSystem system;
        system.add_program("/t/closed/program", make_elf());
        system.add_program("/t/private", make_elf());
        system.add_program("/t/program", make_elf());
        system.refuse("list", "/t/closed", EACCES);
        system.refuse("open", "/t/private", EACCES);
        const auto found = walk(system, "/t");
        CHECK(found.programs == Paths{"/t/program"});
        REQUIRE(found.unread.size() == 2);
        CHECK(found.unread[0].path == "/t/closed");
        CHECK(found.unread[0].problem == "Permission denied");
        CHECK(found.unread[1].path == "/t/private");
    }

    TEST_CASE("a folder without a bottom ends") {
        FakeSystem system;
        std::string path = "/t";
        for (std::size_t i = 0; i < target::kDeepestFolder + 5; ++i) {
            path += "/d";
        }
        system.add_program(path + "/program", make_elf());
        const auto found = walk(system, "/t");
        CHECK(found.programs.empty());
        REQUIRE(found.unread.size() == 1);
        CHECK(found.unread[0].problem == "more than 100 folders deep");
    }

    TEST_CASE("the files met are counted for whoever waits") {
        FakeSystem system;
        system.add_file("/t/a", "1");
        system.add_file("/t/b/c", "2");
        std::vector<std::uint64_t> counts;
        const auto found = target::walk(system, "/t", Wanted::programs,
                                        [&](std::uint64_t count) { counts.push_back(count); });
        CHECK(counts == std::vector<std::uint64_t>{1, 2});
        CHECK(found.files == 2);
    }
}
