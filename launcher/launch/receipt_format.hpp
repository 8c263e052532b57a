// SPDX-License-Identifier: MIT
//
// The words of a receipt that its writer and its reader must spell alike.
#pragma once

#include <string_view>

namespace metalrun::launch {

inline constexpr std::string_view kFirstLine =
    "# metalrun: what was started, and what became of it\n";
/// Values of the key `shim`. One of another maker appends nothing.
inline constexpr std::string_view kOwnShim = "own";
inline constexpr std::string_view kForeignShim = "foreign";

} // namespace metalrun::launch
