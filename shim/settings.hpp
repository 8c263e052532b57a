// SPDX-License-Identifier: MIT
//
// What the shim is asked to do: text from the environment becomes a Settings value. Nothing here
// keeps state. The LUME_METAL_* names and their meaning are the published contract;
// metalrun-shim(7) describes all of them. Numbers are read as strtoull(3) with base 0 reads them
// (leading blanks, a sign, hexadecimal and octal), because the published shim does so; text behind
// the number and overflow are refused.
#pragma once

#include "runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>

namespace metalrun::shim {

/// The methods of a device whose answers can be changed.
enum DeviceMethod : std::uint8_t { supports_family, threadgroup_memory, working_set, method_count };

struct Settings {
    /// What each method answers at least, for supportsFamily: the ceiling. 0 leaves it alone.
    Size at_least[method_count]{};
    bool late = false;           ///< the hook
    bool stock_children = false; ///< else they inherit the shim
    bool verbose = false;
    const char* problem = nullptr; ///< why the process must stay stock; null if it need not
};

/// Read by the constructor, and not changed after that.
inline constinit Settings settings{.problem = "the settings were not read yet"};

inline bool is(const char* text, const char* word) noexcept {
    return std::strcmp(text, word) == 0;
}

/// Nothing if the text is malformed.
inline std::optional<Size> read_number(const char* text, Size when_unset) noexcept {
    if (*text == '\0') {
        return when_unset;
    }
    char* end = nullptr;
    errno = 0;
    const Size value = std::strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0' ? std::optional(value) : std::nullopt;
}

/// Reads every variable; `variable` gives their values, an empty one for those that are unset. One
/// that cannot be read sets `problem`; the others are still honoured, so that a stock process also
/// keeps its children stock when it is told to.
inline Settings read_settings(const char* variable(const char* name)) noexcept {
    const char* family = variable("LUME_METAL_APPLE_FAMILY_MAX");
    const char* hook = variable("METALRUN_SHIM_HOOK");
    const char* children = variable("METALRUN_SHIM_CHILDREN");
    const auto ceiling = read_number(family, 0);
    const auto memory = read_number(variable("LUME_METAL_MAX_THREADGROUP_MEMORY"), 65536);
    const auto set = read_number(variable("LUME_METAL_RECOMMENDED_WORKING_SET_SIZE"), 0);
    Settings result{.at_least = {ceiling.value_or(0), memory.value_or(0), set.value_or(0)},
                    .late = is(hook, "late"),
                    .stock_children = is(children, "stock"),
                    .verbose = is(variable("METALRUN_SHIM_VERBOSE"), "1")};
    if (*family == '\0') {
        result.problem = "LUME_METAL_APPLE_FAMILY_MAX is not set";
    } else if (!ceiling) {
        result.problem = "LUME_METAL_APPLE_FAMILY_MAX is malformed";
    } else if (*ceiling < 1001 || *ceiling > 1999) { // from Apple1 to the published bound
        result.problem = "LUME_METAL_APPLE_FAMILY_MAX is outside 1001 to 1999";
    } else if (!memory) {
        result.problem = "LUME_METAL_MAX_THREADGROUP_MEMORY is malformed";
    } else if (!set) {
        result.problem = "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE is malformed";
    } else if (*hook != '\0' && !is(hook, "early") && !is(hook, "late")) {
        result.problem = "METALRUN_SHIM_HOOK is neither early nor late";
    } else if (*children != '\0' && !is(children, "inherit") && !is(children, "stock")) {
        result.problem = "METALRUN_SHIM_CHILDREN is neither inherit nor stock";
    }
    return result;
}

} // namespace metalrun::shim
