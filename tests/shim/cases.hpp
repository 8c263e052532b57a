// SPDX-License-Identifier: MIT
//
// The table that says which settings give which answers, by every way to a device. Each build of
// the shim is held to it: the native library in whole programs, and the machine code for macOS as
// far as it can be executed here (tests/emulation).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace shim_test {

inline constexpr const char* kStock =
    "yes to 1005 3003, memory 32768, set 5010800640, bfloat16 emulated";
inline constexpr const char* kPublished =
    "yes to 1005 1006 1007 1008 1009 3003, memory 65536, set 5010800640, bfloat16 native";
inline constexpr const char* kPublishedLate =
    "yes to 1005 1006 1007 1008 1009 3003, memory 65536, set 5010800640, bfloat16 emulated";
inline constexpr const char* kSeven =
    "yes to 1005 1006 1007 3003, memory 32768, set 5010800640, bfloat16 emulated";
inline constexpr const char* kMissing = "stock: class '_MTLDevice' is not in this process";

inline constexpr const char* kFamilyMalformed = "stock: LUME_METAL_APPLE_FAMILY_MAX is malformed";
inline constexpr const char* kFamilyOutside =
    "stock: LUME_METAL_APPLE_FAMILY_MAX is outside 1001 to 1999";
inline constexpr const char* kLate = "METALRUN_SHIM_HOOK=late";

/// An early hook reports when the class is changed and when the first device is finished.
inline constexpr const char* kEarlyEvents = "active, active";

/// How a program comes to its device; inside: Metal hands it out by none of its three functions.
enum class Way : std::uint8_t { linked, all, observed, threads, late_load, preloaded, inside };

struct Case {
    std::string name;
    Way way = Way::linked;
    std::vector<std::string> settings; ///< variables
    std::string answers;
    std::string events; ///< in the receipt, after "loaded"
};

/// The Mach-O shim links Metal, so the class is there even if the program loads Metal late; the ELF
/// one says that it had to wait.
enum class Format : std::uint8_t { elf, mach_o };

inline std::string events_of(const Case& wanted, Format format) {
    const bool waits = format == Format::elf && wanted.way == Way::late_load;
    return std::string("loaded") + (waits ? ", " + std::string(kMissing) : "") +
           (wanted.events.empty() ? "" : ", " + wanted.events);
}

inline std::string family(const std::string& value) {
    return "LUME_METAL_APPLE_FAMILY_MAX=" + value;
}

inline std::string memory(const std::string& value) {
    return "LUME_METAL_MAX_THREADGROUP_MEMORY=" + value;
}

inline std::string working_set(const std::string& value) {
    return "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=" + value;
}

/// One line for each case of each rung.
inline void print_case(const std::string& rung, const std::string& name, const std::string& answers,
                       bool is_right) {
    const auto shown = answers == kStock ? std::string("stock") : answers;
    std::printf("%s  %s: %s  %s\n", rung.c_str(), name.c_str(), shown.c_str(),
                is_right ? "ok" : "WRONG");
}

inline std::vector<Case> ways_to_a_device() {
    const std::vector<std::string> early{family("1009")};
    const std::vector<std::string> late{family("1009"), kLate};
    return {
        {"linked, early", Way::linked, early, kPublished, kEarlyEvents},
        {"linked, late", Way::linked, late, kPublishedLate, "active"},
        {"all devices, early", Way::all, early, kPublished, kEarlyEvents},
        {"all devices, late", Way::all, late, kPublishedLate, "active"},
        {"observed devices, late", Way::observed, late, kPublishedLate, "active"},
        {"inside of Metal, early", Way::inside, early, kPublished, "active"},
        {"inside of Metal, late", Way::inside, late, kStock, ""},
        {"two threads, early", Way::threads, early, kPublished, kEarlyEvents},
        {"two threads, late", Way::threads, late, kPublishedLate, "active"},
        {"loaded late, early", Way::late_load, early, kPublished, kEarlyEvents},
        {"loaded late, late", Way::late_load, late, kPublishedLate, "active"},
        {"preloaded, early", Way::preloaded, early, kPublished, kEarlyEvents},
        {"preloaded, late", Way::preloaded, late, kPublishedLate, "active"},
    };
}

inline std::vector<Case> settings_and_answers() {
    const auto row = [](const char* name, std::vector<std::string> settings, std::string answers,
                        std::string events) {
        return Case{name, Way::linked, std::move(settings), std::move(answers), std::move(events)};
    };
    return {
        row("published: 1009, memory unset", {family("1009")}, kPublished, kEarlyEvents),
        row("published, in full", {family("1009"), memory("65536")}, kPublished, kEarlyEvents),
        row("hexadecimal", {family("0x3f1")}, kPublished, kEarlyEvents),
        row("octal and a blank", {family(" 01761")}, kPublished, kEarlyEvents),
        row("1007, stock memory", {family("1007"), memory("0")}, kSeven, kEarlyEvents),
        row("memory below the stock value", {family("1007"), memory("1024")}, kSeven, kEarlyEvents),
        row("a ceiling below the stock family", {family("1001"), memory("0")}, kStock,
            kEarlyEvents),
        row("1999 is still only Apple families", {family("1999"), memory("0")},
            "yes to 1005 1006 1007 1008 1009 1010 1011 3003, memory 32768, set 5010800640, "
            "bfloat16 native",
            kEarlyEvents),
        row("working set raised",
            {family("1007"), memory("0"), "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=6000000000"},
            "yes to 1005 1006 1007 3003, memory 32768, set 6000000000, bfloat16 emulated",
            kEarlyEvents),
        row("working set below the stock value",
            {family("1007"), memory("0"), "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=1"}, kSeven,
            kEarlyEvents),
        row("no settings", {}, kStock, "stock: LUME_METAL_APPLE_FAMILY_MAX is not set"),
        row("empty family", {family("")}, kStock, "stock: LUME_METAL_APPLE_FAMILY_MAX is not set"),
        row("memory only", {memory("65536")}, kStock,
            "stock: LUME_METAL_APPLE_FAMILY_MAX is not set"),
        row("a word", {family("apple9")}, kStock, kFamilyMalformed),
        row("text behind the number", {family("1009x")}, kStock, kFamilyMalformed),
        row("overflow", {family("99999999999999999999")}, kStock, kFamilyMalformed),
        row("1000", {family("1000")}, kStock, kFamilyOutside),
        row("2000", {family("2000")}, kStock, kFamilyOutside),
        row("5001", {family("5001")}, kStock, kFamilyOutside),
        row("negative", {family("-1")}, kStock, kFamilyOutside),
        row("malformed memory", {family("1009"), memory("64K")}, kStock,
            "stock: LUME_METAL_MAX_THREADGROUP_MEMORY is malformed"),
        row("malformed working set", {family("1009"), "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=x"},
            kStock, "stock: LUME_METAL_RECOMMENDED_WORKING_SET_SIZE is malformed"),
        row("unknown hook", {family("1009"), "METALRUN_SHIM_HOOK=soon"}, kStock,
            "stock: METALRUN_SHIM_HOOK is neither early nor late"),
    };
}

/// What a device answers with a ceiling of 1007.
inline std::string seven(const std::string& memory_answer, const std::string& set_answer) {
    return "yes to 1005 1006 1007 3003, memory " + memory_answer + ", set " + set_answer +
           ", bfloat16 emulated";
}

/// The published contract of the three numbers, value by value.
inline std::vector<Case> published_contract() {
    const std::string all = "yes to 1005 1006 1007 1008 1009 1010 1011 3003, memory 32768, "
                            "set 5010800640, bfloat16 native";
    const std::string unset = "stock: LUME_METAL_APPLE_FAMILY_MAX is not set";
    const std::string memory_malformed = "stock: LUME_METAL_MAX_THREADGROUP_MEMORY is malformed";
    const std::string set_malformed = "stock: LUME_METAL_RECOMMENDED_WORKING_SET_SIZE is malformed";
    const std::string most = "18446744073709551615";
    const std::string stock_set = "5010800640";
    struct Row {
        std::string value;
        std::string answers;
        std::string events = kEarlyEvents;
    };
    std::vector<Case> cases{
        {"family unset", Way::linked, {memory("0")}, kStock, unset},
        {"memory unset", Way::linked, {family("1007")}, seven("65536", stock_set), kEarlyEvents},
        {"set unset", Way::linked, {family("1007"), memory("0")}, kSeven, kEarlyEvents}};
    const std::vector<Row> families{
        {"1007", kSeven},
        {"", kStock, unset},
        {" ", kStock, kFamilyMalformed},
        {" \t1007", kSeven},
        {"1007 ", kStock, kFamilyMalformed},
        {"+1007", kSeven},
        {"-1007", kStock, kFamilyOutside},
        {"-18446744073709550609", kSeven},
        {"0x3ef", kSeven},
        {"0X3EF", kSeven},
        {"01757", kSeven},
        {"09", kStock, kFamilyMalformed},
        {"0x", kStock, kFamilyMalformed},
        {"18446744073709552623", kStock, kFamilyMalformed},
        {"1007x", kStock, kFamilyMalformed},
        {"1007.0", kStock, kFamilyMalformed},
        {"0", kStock, kFamilyOutside},
        {"7", kStock, kFamilyOutside},
        {"1000", kStock, kFamilyOutside},
        {"1001", kStock},
        {"1999", all},
        {"2000", kStock, kFamilyOutside},
    };
    for (const auto& row : families) {
        cases.push_back({"family '" + row.value + "'",
                         Way::linked,
                         {family(row.value), memory("0")},
                         row.answers,
                         row.events});
    }
    const auto raised = seven("65536", stock_set);
    const std::vector<Row> memories{
        {"65536", raised},
        {"", raised},
        {"0", kSeven},
        {" ", kStock, memory_malformed},
        {" 65536", raised},
        {"65536 ", kStock, memory_malformed},
        {"+65536", raised},
        {"-1", seven(most, stock_set)},
        {"0x10000", raised},
        {"0200000", raised},
        {"18446744073709551616", kStock, memory_malformed},
        {"64K", kStock, memory_malformed},
        {"1000", kSeven},
        {"1001", kSeven},
        {"1999", kSeven},
        {"2000", kSeven},
        {"32769", seven("32769", stock_set)},
    };
    for (const auto& row : memories) {
        cases.push_back({"memory '" + row.value + "'",
                         Way::linked,
                         {family("1007"), memory(row.value)},
                         row.answers,
                         row.events});
    }
    const auto larger = seven("32768", "6000000000");
    const std::vector<Row> sets{
        {"6000000000", larger},
        {"", kSeven},
        {"0", kSeven},
        {" ", kStock, set_malformed},
        {" 6000000000", larger},
        {"6000000000 ", kStock, set_malformed},
        {"+6000000000", larger},
        {"-1", seven("32768", most)},
        {"0x165a0bc00", larger},
        {"054550136000", larger},
        {"18446744073709551616", kStock, set_malformed},
        {"6G", kStock, set_malformed},
        {"1000", kSeven},
        {"1001", kSeven},
        {"1999", kSeven},
        {"2000", kSeven},
    };
    for (const auto& row : sets) {
        cases.push_back({"set '" + row.value + "'",
                         Way::linked,
                         {family("1007"), memory("0"), working_set(row.value)},
                         row.answers,
                         row.events});
    }
    return cases;
}

} // namespace shim_test
