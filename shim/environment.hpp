// SPDX-License-Identifier: MIT
//
// Keeps the children of the target stock: takes the shim and its variables out of an environment,
// in place. The vector of the process's start is changed and not a copy of it, because some
// programs (those written in Go) give their children that one.
#pragma once

namespace metalrun::shim {

/// Whether the path of an insertion element is the shim's.
using IsShim = bool(const char* path) noexcept;

/// Removes LUME_METAL_*, METALRUN_SHIM_* and METALRUN_RECEIPT from the vector, and the shim's
/// elements from the insertion variable, or that variable when nothing is left of it. Strings only
/// become shorter; nothing is allocated. Doing it again changes nothing.
void remove_shim(char** vector, IsShim* is_shim) noexcept;

/// Whether the path leads to the file this code was loaded from.
[[nodiscard]] bool is_this_library(const char* path) noexcept;

} // namespace metalrun::shim
