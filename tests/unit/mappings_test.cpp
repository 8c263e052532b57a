// SPDX-License-Identifier: MIT
#include "system/mappings.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;

namespace {

std::string stat_of(const std::string& name, const std::string& state, int threads) {
    return "4711 (" + name + ") " + state + " 1 4711 4711 0 -1 4194560 94 0 0 0 0 0 0 0 20 0 " +
           std::to_string(threads) + " 0 2624540 2932736 204 18446744073709551615 1 1 0 0 0\n";
}

const MappedFile kShim{.path = "/opt/lib/shim.so", .identity = {.device = 0x801, .inode = 42}};

Tri search(const std::vector<std::string>& lines) {
    MappingSearch found(kShim);
    for (const std::string& line : lines) {
        found.see_line(line);
    }
    return found.answer();
}

const std::string kProgram = "55d0-55d4 r--p 00000000 08:01 7                  /usr/bin/sleep";
const std::string kStack = "7ffd-7ffe rw-p 00000000 00:00 0                      [stack]";

} // namespace

TEST_SUITE("system.mappings") {

    TEST_CASE("the start time is found behind any command name") {
        for (const char* name : {"sleep", "a) R 1 2 3 4 5 6", ")))", "", "a b\nc", "((("}) {
            CAPTURE(std::string(name));
            const auto stat = parse_proc_stat(stat_of(name, "S", 3));
            REQUIRE(stat);
            CHECK(stat->state == 'S');
            CHECK(stat->threads == 3);
            CHECK(stat->start_time == 2624540);
        }
    }

    TEST_CASE("a text that ends before the start time is no stat") {
        const std::string whole = stat_of("sleep", "Z", 1);
        const std::size_t end = whole.find(" 2932736");
        for (std::size_t length = 0; length < end - 6; ++length) {
            CHECK_FALSE(parse_proc_stat(whole.substr(0, length)));
        }
        CHECK(parse_proc_stat(whole.substr(0, end)));
        CHECK_FALSE(parse_proc_stat("1 (a) S x x x x x x x x x x x x x x x x x x x x"));
    }

    TEST_CASE("the effective user is the second of four") {
        CHECK(parse_proc_user("Name:\tUid:\nUid:\t1\t2\t3\t4\nGid:\t5\n") == 2U);
        CHECK_FALSE(parse_proc_user("Name:\tUid: 1 2\n"));
        CHECK_FALSE(parse_proc_user("Name:\ta\nUid:\t1\n"));
        CHECK_FALSE(parse_proc_user(""));
    }

    TEST_CASE("a mapped library is found by its path or by its file") {
        CHECK(search({kProgram, "7f00-7f01 r-xp 00000000 00:2d 9    /opt/lib/shim.so"}) ==
              Tri::yes);
        CHECK(search({kProgram, "7f00-7f01 r-xp 00000000 08:01 42   /elsewhere/name.so"}) ==
              Tri::yes);
        CHECK(search({kProgram, "7f00-7f01 r-xp 00000000 08:01 9   /opt/lib/shim.so (deleted)"}) ==
              Tri::yes);
    }

    TEST_CASE("not mapped: other files only") {
        CHECK(search({kProgram, kStack}) == Tri::no);
        CHECK(search({kProgram, "7f00-7f01 r-xp 00000000 08:02 42   /opt/lib/other.so"}) ==
              Tri::no);
        CHECK(search({kProgram, "7f00-7f01 r-xp 00000000 08:01 43   /opt/lib/shim.so.bak"}) ==
              Tri::no);
    }

    TEST_CASE("unknown: nothing was seen, or only the same name in another place") {
        CHECK(search({}) == Tri::unknown);
        CHECK(search({"", "garbage", "a b c d e f", "7f00-7f01 r-xp 0 zz:01 9 /x"}) ==
              Tri::unknown);
        CHECK(search({kProgram, "7f00-7f01 r-xp 00000000 08:01 9   /opt/lib-1/shim.so"}) ==
              Tri::unknown);
    }

    TEST_CASE("a newline in a path is an escape in the kernel's line") {
        MappingSearch found({.path = "/a\nb/shim.so", .identity = {}});
        found.see_line("7f00-7f01 r-xp 00000000 08:01 9   /a\\012b/shim.so");
        CHECK(found.answer() == Tri::yes);
    }

    TEST_CASE("device numbers are those of stat(2), large ones too") {
        MappingSearch found({.path = "/x", .identity = {.device = 0xabc123de, .inode = 5}});
        found.see_line("7f00-7f01 r-xp 00000000 123:abcde 5   /y");
        CHECK(found.answer() == Tri::yes);
    }

} // TEST_SUITE
