// SPDX-License-Identifier: MIT
//
// The outermost layer: a thin Mach-O file, or a universal one and its table of slices. The rules
// are the kernel's (xnu bsd/kern/mach_fat.c) and, for what both refuse, dyld's (mach_o/Universal).
#pragma once

#include "macho/source.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace metalrun::macho {

enum class Container : std::uint8_t {
    thin,
    universal,
    universal64, ///< 64-bit offsets: dyld maps it, the kernel does not execute it
};

/// Where a slice lies, and what the universal header says of it (thin: what its own header says).
struct Slice {
    std::uint32_t cputype = 0;
    std::uint32_t cpusubtype = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;

    bool operator==(const Slice&) const = default;
};

struct Layout {
    Container container = Container::thin;
    std::vector<Slice> slices; ///< in the file's order, at least one, at most kMostSlices

    bool operator==(const Layout&) const = default;
};

/// Where a universal file has its number of slices, a Java class has its version, from 45 on. The
/// kernel takes what fits its first page.
inline constexpr std::uint32_t kMostSlices = 44;
/// dyld takes no library with more (mach_o/Universal.cpp).
inline constexpr std::uint32_t kMostSlicesOfLibrary = 16;

/// True if the bytes begin as a Mach-O file of any word size and byte order or as a universal file
/// does. A Java class is none.
[[nodiscard]] bool is_macho(Bytes first_bytes);

/// Errors: not a Mach-O file (is_macho is false), or a table of slices that the kernel refuses.
[[nodiscard]] std::expected<Layout, Malformed> parse_layout(const Source& file);

/// "arm64", "arm64e", "x86_64", "x86_64h", "i386" …, or "unknown (0x1000099, 0x0)".
[[nodiscard]] std::string architecture_name(std::uint32_t cputype, std::uint32_t cpusubtype);

} // namespace metalrun::macho
