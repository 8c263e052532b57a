// SPDX-License-Identifier: MIT
//
// The images of this process: files are read and checked by the loader of tests/emulation, mapped
// here, and bound to each other and to the tables of libsystem.h. Every name is looked for in all
// of them (dyld looks in one library, by its number). Source: dyld(1), mach-o/loader.h.
#pragma once

#include "../../emulation/loader.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace machload {

inline constexpr emulation::Cpu kCpu =
#if defined(__x86_64__)
    emulation::Cpu::x86_64;
#else
    emulation::Cpu::arm64;
#endif

struct LoadedImage {
    std::string path;
    emulation::Image image;
    std::uint64_t address = 0;

    [[nodiscard]] bool holds(std::uint64_t place) const;
    /// The section of that name, by address; size 0: there is none.
    [[nodiscard]] emulation::Section section(std::string_view name) const;
};

/// In the order of loading; none is ever unloaded, and each stays where it is.
[[nodiscard]] const std::vector<const LoadedImage*>& loaded_images();

/// Maps a file and the libraries beside it that it names, and sets its pointers; the initialisers
/// have not run. The error is a sentence.
[[nodiscard]] std::expected<const LoadedImage*, std::string> load_image(const std::string& path);

} // namespace machload
