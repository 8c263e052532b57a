// SPDX-License-Identifier: MIT
//
// What the shim is asked to do: text from the environment becomes a Settings value. Nothing here
// reads the environment or keeps state. The LUME_METAL_* names and their meaning are the published
// contract; metalrun-shim(7) describes all of them.
#pragma once

#include "runtime.hpp"

namespace metalrun::shim {

inline constexpr Size kFirstFamily = 1001; // MTLGPUFamilyApple1
inline constexpr Size kLastFamily = 1999;  // the published bound; profiles stop at Apple10
inline constexpr Size kPublishedThreadgroupMemory = 65536;

enum class Hook : std::uint8_t { early, late };
enum class Children : std::uint8_t { inherit, stock };

/// The values of the variables; null and empty both mean unset.
struct SettingTexts {
    const char* family = nullptr;
    const char* threadgroup_memory = nullptr;
    const char* working_set = nullptr;
    const char* hook = nullptr;
    const char* children = nullptr;
    const char* verbose = nullptr;
};

/// A size of 0 leaves that answer alone.
struct Settings {
    Size ceiling = 0;
    Size threadgroup_memory = 0;
    Size working_set = 0;
    Hook hook = Hook::early;
    Children children = Children::inherit;
    bool verbose = false;
    const char* problem = nullptr; ///< why the process must stay stock; null if it need not
};

/// Reads every text. One that cannot be read sets `problem`; the others are still honoured, so that
/// a stock process also keeps its children stock when it is told to.
[[nodiscard]] Settings parse_settings(const SettingTexts& texts) noexcept;

} // namespace metalrun::shim
