// SPDX-License-Identifier: MIT
//
// Why the kernel refuses a main program and dyld a library although the load commands can be
// believed: pure functions over what the walk of image.cpp has seen.
#pragma once

#include "macho/image.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metalrun::macho {

/// LC_SEGMENT or LC_SEGMENT_64. The part of the file was found to lie inside the slice.
struct Segment {
    std::string name;
    std::uint64_t address = 0; ///< in memory
    std::uint64_t size = 0;    ///< in memory
    std::uint64_t file_offset = 0;
    std::uint64_t file_size = 0;
    std::uint32_t most_protection = 0; ///< maxprot: VM_PROT_*
    std::uint32_t protection = 0;      ///< initprot
};

/// What else load commands tell, and only the rules below ask for.
struct Shape {
    std::uint64_t header_and_commands = 0; ///< bytes
    std::vector<Segment> segments;         ///< in order
    std::size_t narrow_segments = 0;       ///< LC_SEGMENT
    std::size_t wide_segments = 0;         ///< LC_SEGMENT_64
    std::size_t dylinkers = 0;             ///< LC_LOAD_DYLINKER
    bool dylinker_has_end = true;          ///< its path ends with a NUL
    std::size_t entry_points = 0;          ///< LC_MAIN and LC_UNIXTHREAD
    std::size_t install_names = 0;         ///< LC_ID_DYLIB
    std::size_t links = 0;       ///< libraries that are linked, lazily loaded ones excepted
    std::size_t uuids = 0;       ///< LC_UUID
    std::uint32_t macos_sdk = 0; ///< 0x000d0000 is 13.0; 0: not built for macOS
    std::optional<std::uint32_t> unknown_required_command; ///< has LC_REQ_DYLD, but no name
    /// The first command whose size is not the one that dyld wants, as a sentence.
    std::optional<std::string> size_problem;
    /// The first section that lies before its segment or is larger than memory, as a sentence.
    std::optional<std::string> section_problem;
};

/// The size that a command has if it has the same in every file; nothing for the others (mach-o/
/// loader.h; dyld mach_o/UnsafeHeader.cpp validStructureLoadCommands).
[[nodiscard]] std::optional<std::uint64_t> fixed_size_of(std::uint32_t command);

/// True if dyld knows this command, of those with LC_REQ_DYLD.
[[nodiscard]] bool is_known_required(std::uint32_t command);

/// The first reason as one sentence; nothing for what is no arm64 program. Source: xnu
/// bsd/kern/mach_loader.c parse_machfile, load_segment, load_dylinker, load_machfile.
[[nodiscard]] std::optional<std::string> kernel_problem_of(const Image& image, const Shape& shape);

/// The first reason; nothing for what is no library. Sources: dyld mach_o/UnsafeHeader.cpp valid()
/// (Header.cpp from 1284 on), and before it common/MachOAnalyzer.cpp validMachOForArchAndPlatform.
[[nodiscard]] std::optional<DyldProblem> dyld_problem_of(const Image& image, const Shape& shape);

} // namespace metalrun::macho
