// SPDX-License-Identifier: MIT
//
// The programs below a folder, for `check`. Symbolic links are not followed: what they lead to
// inside the folder is met by its own name, and what lies outside is not part of it.
#pragma once

#include "system/system.hpp"
#include "target/content.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace metalrun::target {

/// A file or folder that could not be looked at.
struct Unread {
    std::string path;
    std::string problem; ///< why, such as "Permission denied"
};

struct Walk {
    std::vector<std::string> programs; ///< paths in the order of their bytes
    std::vector<Unread> unread;        ///< in the order of their paths' bytes
    std::uint64_t files = 0;           ///< regular files that were met
    std::uint64_t skipped = 0;         ///< those of them that are no programs, or unread
    std::uint64_t links = 0; ///< symbolic links: none is followed, what lies inside is met itself
};

enum class Wanted : std::uint8_t { programs, macos_programs };

/// Called with the number of files that were met so far.
using Progress = std::function<void(std::uint64_t)>;

/// Deeper folders are told as unread.
inline constexpr std::size_t kDeepestFolder = 100;

/// True for a Mach-O or ELF file that is started rather than loaded, or too damaged to tell.
[[nodiscard]] bool is_program(const Content& content);

/// Looks at every regular file below `folder`. Scripts are no programs here: each is judged when it
/// is named. Never fails: what cannot be read is in Walk::unread.
[[nodiscard]] Walk walk(System& system, const std::string& folder, Wanted wanted,
                        const Progress& progress);

} // namespace metalrun::target
