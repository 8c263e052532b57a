// SPDX-License-Identifier: MIT
//
// Where a system call of Darwin differs from one of Linux in numbers and layouts. Source: the
// headers sys/fcntl.h and sys/stat.h of macOS 13 (64-bit inodes); those of sys/resource.h agree for
// file sizes.
#pragma once

#include <array>
#include <cstddef>

#include <sys/stat.h>

namespace emulation {

/// The flags of open(2) as Linux has them; -1 when there are some that are not known here.
[[nodiscard]] int open_flags_from_darwin(int flags);

using DarwinStat = std::array<std::byte, 144>;

/// What Darwin's fstat(2) would have written.
[[nodiscard]] DarwinStat darwin_stat_of(const struct stat& status);

} // namespace emulation
