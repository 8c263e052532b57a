// SPDX-License-Identifier: MIT
//
// Reading what a start leaves unread: large code directories and blobs, and the pages that they
// have hashes of.
#pragma once

#include "cli/command_line.hpp"
#include "system/system.hpp"
#include "target/chain.hpp"

#include <optional>

namespace metalrun::commands {

enum class Slices : std::uint8_t { running, all };

/// How many threads hash the pages of this slice: `check` may use some for a large one, a start is
/// to use none.
enum class Hashing : std::uint8_t { in_this_thread, by_workers };

/// Reads a Mach-O image whole at Depth::verify and compares page hashes, of the slice that would be
/// started with this preference or of all; only those of a signature that can be believed. A file
/// that cannot be opened any more, or is of another kind, is left as it is.
void verify_image(System& system, target::Image& image, std::optional<cli::Arch> asked,
                  Slices slices, Hashing hashing);

} // namespace metalrun::commands
