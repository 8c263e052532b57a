// SPDX-License-Identifier: MIT
//
// The words of profile values (profile/values.hpp).
#include "profile/values.hpp"

#include <array>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

Family ceiling(std::uint16_t number) {
    return {.kind = Family::Kind::ceiling, .ceiling = number};
}

} // namespace

TEST_SUITE("profile.values") {

    TEST_CASE("a family is stock, host, or an Apple family by name or number") {
        CHECK(parse_family("stock") == Family{});
        CHECK(parse_family("host") == Family{.kind = Family::Kind::host});
        for (int i = 1; i <= 10; ++i) {
            const Family expected = ceiling(static_cast<std::uint16_t>(1000 + i));
            CHECK(parse_family("apple" + std::to_string(i)) == expected);
            CHECK(parse_family(std::to_string(1000 + i)) == expected);
            CHECK(parse_family(std::int64_t{1000 + i}) == expected);
            CHECK(to_string(expected) == "apple" + std::to_string(i));
            CHECK(parse_family(to_string(expected)) == expected);
        }
        CHECK(to_string(Family{}) == "stock");
        CHECK(to_string(Family{.kind = Family::Kind::host}) == "host");
    }

    TEST_CASE("families outside 1001 to 1010 are refused") {
        for (const std::string_view text : {"", "apple", "apple0", "apple11", "apple07", "apple7 ",
                                            " apple7", "apple-1", "apple1x", "1000", "1011", "1999",
                                            "0", "7", "99999999999999999999", "+1007", "-1007"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_family(text).has_value());
        }
        for (const std::int64_t number : {0L, -1L, 7L, 1000L, 1011L, 1999L, 6000L}) {
            CAPTURE(number);
            CHECK_FALSE(parse_family(number).has_value());
        }
    }

    TEST_CASE("Metal, Mac, Common and Catalyst families are refused by their row") {
        constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kCases{{
            {"metal3", "a Metal family"},
            {"Metal4", "a Metal family"},
            {"mac2", "a Mac family"},
            {"common3", "a Common family"},
            {"catalyst1", "a Catalyst family"},
            {"maccatalyst2", "a Catalyst family"},
            {"5001", "a Metal family"},
            {"5002", "a Metal family"},
            {"2001", "a Mac family"},
            {"2002", "a Mac family"},
            {"3003", "a Common family"},
            {"4001", "a Catalyst family"},
        }};
        for (const auto& [text, row] : kCases) {
            CAPTURE(text);
            const Result<Family> family = parse_family(text);
            REQUIRE_FALSE(family.has_value());
            CHECK(family.error().message.find(row) != std::string::npos);
            CHECK(family.error().code == Errc::usage);
        }
        CHECK_FALSE(parse_family(std::int64_t{5001}).has_value());
    }

    TEST_CASE("a family in other letters is refused with the accepted spelling") {
        const Result<Family> family = parse_family("Apple7");
        REQUIRE_FALSE(family.has_value());
        CHECK(family.error().help == "write 'apple7'");
        CHECK(parse_family("7").error().help == "write 'apple7'");
    }

    TEST_CASE("a limit is stock, bytes, or a whole number with a unit") {
        CHECK(parse_limit("stock") == Limit{0});
        CHECK(parse_limit("0") == Limit{0});
        CHECK(parse_limit("32768") == Limit{32768});
        CHECK(parse_limit("1B") == Limit{1});
        CHECK(parse_limit("64 KiB") == Limit{65536});
        CHECK(parse_limit("64KiB") == Limit{65536});
        CHECK(parse_limit("3 MiB") == Limit{3U << 20U});
        CHECK(parse_limit("2GiB") == Limit{2ULL << 30U});
        CHECK(parse_limit("9223372036854775807") == Limit{9223372036854775807ULL});
        CHECK(to_string(Limit{0}) == "stock");
        CHECK(to_string(Limit{65536}) == "65536");
    }

    TEST_CASE("fractions, signs, blanks and unknown units of a limit are refused") {
        for (const std::string_view text :
             {"", " ", "KiB", "1.5 GiB", "-1", "+1", "64  KiB", "64 kib", "64KiB ", " 64KiB",
              "64 TiB", "0x40", "sixty", "Stock"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_limit(text).has_value());
        }
    }

    TEST_CASE("KB, MB and GB are refused as ambiguous, with the unit that is meant") {
        const Result<Limit> limit = parse_limit("64 KB");
        REQUIRE_FALSE(limit.has_value());
        CHECK(limit.error().help == "write '64 KiB'");
        CHECK(parse_limit("64kB").error().help == "write '64 KiB'");
        CHECK(parse_limit("2MB").error().help == "write '2 MiB'");
        CHECK(parse_limit("2G").error().help == "write '2 GiB'");
    }

    TEST_CASE("a limit that does not fit is too large") {
        for (const std::string_view text : {"99999999999999999999", "9223372036854775808",
                                            "8589934592 GiB", "18446744073709551616 B"}) {
            CAPTURE(text);
            const Result<Limit> limit = parse_limit(text);
            REQUIRE_FALSE(limit.has_value());
            CHECK(limit.error().message.find("too large") != std::string::npos);
        }
    }

    TEST_CASE("threadgroup memory ends at 64 KiB") {
        CHECK(parse_threadgroup_memory("65536") == Limit{65536});
        CHECK(parse_threadgroup_memory("64 KiB") == Limit{65536});
        CHECK_FALSE(parse_threadgroup_memory("65537").has_value());
        CHECK_FALSE(parse_threadgroup_memory("65 KiB").has_value());
        CHECK_FALSE(parse_threadgroup_memory("1 MiB").has_value());
    }

    TEST_CASE("each enumeration has the words of the manual page") {
        CHECK(parse_hook("early") == Hook::early);
        CHECK(parse_hook("late") == Hook::late);
        CHECK(parse_children("stock") == Children::stock);
        CHECK(parse_children("inherit") == Children::inherit);
        CHECK(parse_children("inherit-if-safe") == Children::inherit_if_safe);
        CHECK(parse_on_refusal("fail") == OnRefusal::fail);
        CHECK(parse_on_refusal("stock") == OnRefusal::stock);
        CHECK(parse_when_uncertain("refuse") == WhenUncertain::refuse);
        CHECK(parse_when_uncertain("inject") == WhenUncertain::inject);
        CHECK(parse_where("guest") == Where::guest);
        CHECK(parse_where("anywhere") == Where::anywhere);
        CHECK(parse_workload_status("beneficial") == WorkloadStatus::beneficial);
        CHECK(parse_workload_status("no-benefit") == WorkloadStatus::no_benefit);
        CHECK(parse_workload_status("unsafe") == WorkloadStatus::unsafe);
        CHECK(parse_workload_status("blocked") == WorkloadStatus::blocked);
        CHECK(parse_workload_status("untested") == WorkloadStatus::untested);
        CHECK(parse_quirk_level("note") == QuirkLevel::note);
        CHECK(parse_quirk_level("warn") == QuirkLevel::warn);
        CHECK(parse_quirk_level("refuse") == QuirkLevel::refuse);
    }

    TEST_CASE("each enumerator prints the word that is parsed") {
        CHECK(to_string(Hook::late) == "late");
        CHECK(to_string(Children::inherit_if_safe) == "inherit-if-safe");
        CHECK(to_string(OnRefusal::stock) == "stock");
        CHECK(to_string(WhenUncertain::inject) == "inject");
        CHECK(to_string(Where::anywhere) == "anywhere");
        CHECK(to_string(WorkloadStatus::no_benefit) == "no-benefit");
        CHECK(to_string(QuirkLevel::warn) == "warn");
    }

    TEST_CASE("an unknown word is answered with the accepted ones and the nearest") {
        const Result<Children> children = parse_children("inherits");
        REQUIRE_FALSE(children.has_value());
        CHECK(children.error().message ==
              "expected 'stock', 'inherit' or 'inherit-if-safe', not 'inherits'");
        CHECK(children.error().help == "a word with a similar name exists: 'inherit'");
        CHECK(parse_hook("xyz").error().help.empty());
        CHECK_FALSE(parse_hook("Early").has_value());
        CHECK_FALSE(parse_hook("").has_value());
    }

    TEST_CASE("names of dyld, the dynamic linker and the shim are reserved") {
        for (const std::string_view name : {"DYLD_INSERT_LIBRARIES", "DYLD_", "LD_PRELOAD",
                                            "LUME_METAL_APPLE_FAMILY_MAX", "METALRUN_RECEIPT"}) {
            CAPTURE(name);
            CHECK(is_reserved_variable(name));
        }
        for (const std::string_view name :
             {"DYLD", "LDFLAGS", "MY_LD_PRELOAD", "dyld_x", "METAL_X"}) {
            CAPTURE(name);
            CHECK_FALSE(is_reserved_variable(name));
        }
    }

    TEST_CASE("a version covers itself and all below it") {
        CHECK(covers_os("13", "13") == true);
        CHECK(covers_os("13", "13.6.1") == true);
        CHECK(covers_os("13", "14.0") == false);
        CHECK(covers_os("13", "12.7") == false);
        CHECK(covers_os("14.3", "14.3.1") == true);
        CHECK(covers_os("14.3", "14.4") == false);
        CHECK(covers_os("14.3", "14") == false);
        CHECK(covers_os("1", "13") == false);
    }

    TEST_CASE("a range includes both ends by the digits given") {
        CHECK(covers_os("14.0..14.3", "14.0") == true);
        CHECK(covers_os("14.0..14.3", "14.3.9") == true);
        CHECK(covers_os("14.0..14.3", "14.4") == false);
        CHECK(covers_os("14.0..14.3", "13.9") == false);
        CHECK(covers_os("13..15", "15.7.2") == true);
        CHECK(covers_os("13..15", "26.0") == false);
    }

    TEST_CASE("a lower bound has no upper end") {
        CHECK(covers_os(">=15", "15.0") == true);
        CHECK(covers_os(">=15", "26.5") == true);
        CHECK(covers_os(">=15", "14.9.9") == false);
        CHECK(covers_os(">=14.4", "14.4.1") == true);
        CHECK(covers_os(">=14.4", "14.3.1") == false);
    }

    TEST_CASE("an unknown system falls under no range") {
        for (const std::string_view os : {"", "unknown", "26.x", "26.5 beta", "1.2.3.4"}) {
            CAPTURE(os);
            CHECK(covers_os(">=1", os) == false);
        }
    }

    TEST_CASE("what is not a range of systems is an error, also for an unknown system") {
        for (const std::string_view pattern :
             {"", "x", ">=", ">14", "=14", "14.", ".14", "14..", "..14", "14...15", "15..14",
              "14.3..14.1", "14 .. 15", "13.0.0.0", "13.x", "99999"}) {
            CAPTURE(pattern);
            CHECK_FALSE(covers_os(pattern, "").has_value());
            CHECK_FALSE(covers_os(pattern, "14.0").has_value());
        }
    }
}
