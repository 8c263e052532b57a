// SPDX-License-Identifier: MIT
//
// The table that says which settings give which answers, by every way to a device. Each build of
// the shim is held to it: the native library in whole programs, and the machine code for macOS as
// far as it can be executed here (tests/emulation).
#pragma once

#include <cstdint>
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

enum class Way : std::uint8_t { linked, all, observed, threads, late_load, preloaded };

struct Case {
    const char* name;
    Way way = Way::linked;
    std::vector<std::string> settings; ///< variables
    const char* answers;
    std::string events; ///< in the receipt, after "loaded"
};

/// The Mach-O shim links Metal, so the class is there even if the program loads Metal late; the ELF
/// one says that it had to wait.
enum class Format : std::uint8_t { elf, mach_o };

inline std::string events_of(const Case& wanted, Format format) {
    const bool waits = format == Format::elf && wanted.way == Way::late_load;
    return std::string("loaded, ") + (waits ? std::string(kMissing) + ", " : "") + wanted.events;
}

inline std::string family(const std::string& value) {
    return "LUME_METAL_APPLE_FAMILY_MAX=" + value;
}

inline std::string memory(const std::string& value) {
    return "LUME_METAL_MAX_THREADGROUP_MEMORY=" + value;
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
        {"two threads, early", Way::threads, early, kPublished, kEarlyEvents},
        {"two threads, late", Way::threads, late, kPublishedLate, "active"},
        {"loaded late, early", Way::late_load, early, kPublished, kEarlyEvents},
        {"loaded late, late", Way::late_load, late, kPublishedLate, "active"},
        {"preloaded, early", Way::preloaded, early, kPublished, kEarlyEvents},
        {"preloaded, late", Way::preloaded, late, kPublishedLate, "active"},
    };
}

inline std::vector<Case> settings_and_answers() {
    const auto row = [](const char* name, std::vector<std::string> settings, const char* answers,
                        std::string events) {
        return Case{name, Way::linked, std::move(settings), answers, std::move(events)};
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

} // namespace shim_test
