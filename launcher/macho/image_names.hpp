// SPDX-License-Identifier: MIT
//
// Numbers of load commands as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace metalrun::macho {

/// A version in 4 bytes: 0x000d0201 is "13.2.1", 0x000d0000 "13.0".
[[nodiscard]] std::string version_text(std::uint32_t packed);

/// "macOS", "Mac Catalyst" …, or "platform 99" (mach-o/loader.h, dyld mach_o/Platform.cpp).
[[nodiscard]] std::string platform_name(std::uint32_t platform);

/// "executable", "library", "bundle" …, or "type 99".
[[nodiscard]] std::string filetype_name(std::uint32_t filetype);

/// The platform that an LC_VERSION_MIN_* command stands for on arm64.
[[nodiscard]] std::uint32_t platform_of_version_min(std::uint32_t command);

} // namespace metalrun::macho
