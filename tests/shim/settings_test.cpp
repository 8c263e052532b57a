// SPDX-License-Identifier: MIT
//
// How the shim reads its variables: the published contract, value by value.
#include "settings.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace metalrun::shim;

namespace {

struct NumberCase {
    const char* text;
    bool accepted;
    Size value = 0;
};

/// Texts that strtoull(3) with base 0 reads, and texts it does not read whole.
constexpr NumberCase kFamilies[] = {
    {.text = "1001", .accepted = true, .value = 1001},
    {.text = "1007", .accepted = true, .value = 1007},
    {.text = "1009", .accepted = true, .value = 1009},
    {.text = "1999", .accepted = true, .value = 1999},
    {.text = " \t\n1009", .accepted = true, .value = 1009},
    {.text = "+1009", .accepted = true, .value = 1009},
    {.text = "0x3f1", .accepted = true, .value = 1009},
    {.text = "0X3F1", .accepted = true, .value = 1009},
    {.text = "01761", .accepted = true, .value = 1009},
    {.text = "-18446744073709550607", .accepted = true, .value = 1009},
    {.text = "1000", .accepted = false},
    {.text = "2000", .accepted = false},
    {.text = "5001", .accepted = false},
    {.text = "0", .accepted = false},
    {.text = "7", .accepted = false},
    {.text = "-1009", .accepted = false},
    {.text = "1009 ", .accepted = false},
    {.text = "1009\n", .accepted = false},
    {.text = "1009x", .accepted = false},
    {.text = "1009.0", .accepted = false},
    {.text = "0x", .accepted = false},
    {.text = "apple9", .accepted = false},
    {.text = " ", .accepted = false},
    {.text = "++1009", .accepted = false},
    {.text = "18446744073709552625", .accepted = false},
    {.text = "99999999999999999999999", .accepted = false},
};

/// The values of the variables.
struct SettingTexts {
    const char* family = nullptr;
    const char* threadgroup_memory = nullptr;
    const char* working_set = nullptr;
    const char* hook = nullptr;
    const char* children = nullptr;
    const char* verbose = nullptr;
};

constinit SettingTexts texts_now{};

const char* variable(const char* asked) noexcept {
    const std::string_view name = asked;
    return name == "LUME_METAL_APPLE_FAMILY_MAX"               ? texts_now.family
           : name == "LUME_METAL_MAX_THREADGROUP_MEMORY"       ? texts_now.threadgroup_memory
           : name == "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE" ? texts_now.working_set
           : name == "METALRUN_SHIM_HOOK"                      ? texts_now.hook
           : name == "METALRUN_SHIM_CHILDREN"                  ? texts_now.children
           : name == "METALRUN_SHIM_VERBOSE"                   ? texts_now.verbose
                                                               : "an unknown name";
}

/// An unset variable is read as an empty one.
const char* variable_or_empty(const char* name) noexcept {
    const char* value = variable(name);
    return value == nullptr ? "" : value;
}

Settings parse_settings(const SettingTexts& texts) {
    texts_now = texts;
    return read_settings(&variable_or_empty);
}

std::string problem_of(const Settings& settings) {
    return settings.problem == nullptr ? "" : settings.problem;
}

} // namespace

TEST_SUITE("shim.settings") {

    TEST_CASE("the family is read as strtoull reads it, within 1001 to 1999") {
        for (const auto& row : kFamilies) {
            CAPTURE(std::string{row.text});
            const auto settings = parse_settings({.family = row.text});
            CHECK((settings.problem == nullptr) == row.accepted);
            if (row.accepted) {
                CHECK(settings.at_least[supports_family] == row.value);
            }
        }
    }

    TEST_CASE("an absent or empty family leaves the process stock, and the reason says so") {
        CHECK(problem_of(parse_settings({})) == "LUME_METAL_APPLE_FAMILY_MAX is not set");
        CHECK(problem_of(parse_settings({.family = ""})) ==
              "LUME_METAL_APPLE_FAMILY_MAX is not set");
        CHECK(problem_of(parse_settings({.family = "x"})) ==
              "LUME_METAL_APPLE_FAMILY_MAX is malformed");
        CHECK(problem_of(parse_settings({.family = "1000"})) ==
              "LUME_METAL_APPLE_FAMILY_MAX is outside 1001 to 1999");
    }

    TEST_CASE("threadgroup memory is 65536 when unset or empty, and 0 means stock") {
        CHECK(parse_settings({.family = "1009"}).at_least[threadgroup_memory] == 65536);
        CHECK(parse_settings({.family = "1009", .threadgroup_memory = ""})
                  .at_least[threadgroup_memory] == 65536);
        CHECK(parse_settings({.family = "1009", .threadgroup_memory = "0"})
                  .at_least[threadgroup_memory] == 0);
        CHECK(parse_settings({.family = "1009", .threadgroup_memory = "0x8000"})
                  .at_least[threadgroup_memory] == 32768);
    }

    TEST_CASE("the working set is left alone unless it is asked for") {
        CHECK(parse_settings({.family = "1009"}).at_least[working_set] == 0);
        CHECK(parse_settings({.family = "1009", .working_set = ""}).at_least[working_set] == 0);
        CHECK(
            parse_settings({.family = "1009", .working_set = "8589934592"}).at_least[working_set] ==
            8589934592);
    }

    TEST_CASE("a malformed size leaves the process stock") {
        for (const auto* text : {"64K", "65536 ", "x", "18446744073709551616", " "}) {
            CAPTURE(std::string{text});
            CHECK(problem_of(parse_settings({.family = "1009", .threadgroup_memory = text})) ==
                  "LUME_METAL_MAX_THREADGROUP_MEMORY is malformed");
            CHECK(problem_of(parse_settings({.family = "1009", .working_set = text})) ==
                  "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE is malformed");
        }
    }

    TEST_CASE("unset, the hook is early and children inherit") {
        const auto unset = parse_settings({.family = "1009"});
        CHECK_FALSE(unset.late);
        CHECK_FALSE(unset.stock_children);
        CHECK_FALSE(unset.verbose);
        const auto empty =
            parse_settings({.family = "1009", .hook = "", .children = "", .verbose = ""});
        CHECK(empty.problem == nullptr);
        CHECK_FALSE(empty.late);
        CHECK_FALSE(empty.stock_children);
    }

    TEST_CASE("words are taken exactly, others leave the process stock") {
        const auto set =
            parse_settings({.family = "1009", .hook = "late", .children = "stock", .verbose = "1"});
        CHECK(set.problem == nullptr);
        CHECK(set.late);
        CHECK(set.stock_children);
        CHECK(set.verbose);
        CHECK(problem_of(parse_settings({.family = "1009", .hook = "Late"})) ==
              "METALRUN_SHIM_HOOK is neither early nor late");
        CHECK(problem_of(parse_settings({.family = "1009", .children = "none"})) ==
              "METALRUN_SHIM_CHILDREN is neither inherit nor stock");
    }

    TEST_CASE("children stay stock as told in a process that is stock itself") {
        CHECK(parse_settings({.children = "stock"}).stock_children);
        CHECK(parse_settings({.family = "x", .children = "stock"}).stock_children);
    }

} // TEST_SUITE
