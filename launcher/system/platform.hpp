// SPDX-License-Identifier: MIT
//
// Which system this is built for, for the few rules that differ by system and make no system call.
#pragma once

namespace metalrun {

#ifdef __APPLE__
inline constexpr bool kIsMacOs = true;
#else
inline constexpr bool kIsMacOs = false;
#endif

} // namespace metalrun
