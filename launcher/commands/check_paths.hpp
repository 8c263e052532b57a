// SPDX-License-Identifier: MIT
//
// From the operands of `check` to the files that are judged.
#pragma once

#include "commands/session.hpp"
#include "target/walk.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metalrun::commands {

enum class Recursion : std::uint8_t { off, on };

struct CheckedPaths {
    std::vector<std::string> paths;   ///< in the operands' order, below one by the paths' bytes
    std::optional<target::Walk> walk; ///< all walks together, without their programs
};

/// A bundle is judged by its main executable, and every further Mach-O program in it by itself. A
/// folder gives its programs if `recursion` is on; everything else stays as it is named.
/// `progress` may be empty.
[[nodiscard]] CheckedPaths find_paths(const Session& session,
                                      const std::vector<std::string>& operands, Recursion recursion,
                                      const target::Progress& progress);

} // namespace metalrun::commands
