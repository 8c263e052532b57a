// SPDX-License-Identifier: MIT
//
// A small Mach-O loader for tests: reads a library or program of 64 bits, and lays out a copy of it
// with every pointer set, as dyld does before it runs the initialisers. What executes the copy is
// up to the caller. Sources: mach-o/loader.h, mach-o/nlist.h, mach-o/fixup-chains.h. No count or
// offset of the file is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace emulation {

using Bytes = std::span<const std::byte>;

enum class Cpu : std::uint32_t { x86_64 = 0x01000007, arm64 = 0x0100000c };

/// Offsets in an image count from its Mach header, which comes first.
struct Segment {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t protection = 0; ///< after the pointers are set: 1 read, 2 write, 4 execute
};

/// A place that holds a pointer: into the image, or to an import.
struct Fixup {
    std::uint64_t offset = 0;
    std::string import;      ///< empty: the pointer is `value` from the header
    bool weak = false;       ///< the import may be missing
    std::uint64_t value = 0; ///< otherwise to be added to the import's address
    std::uint8_t high8 = 0;  ///< the topmost byte of a pointer into the image
};

/// One entry of __DATA,__interpose.
struct Interposed {
    std::uint64_t replacement_offset = 0;
    std::string original;
};

struct Section {
    std::string name;
    std::uint8_t type = 0; ///< S_… of mach-o/loader.h
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct Image {
    std::vector<std::byte> memory; ///< before any pointer is set
    std::vector<Segment> segments;
    std::vector<Section> sections; ///< each lies within the memory
    std::vector<Fixup> fixups;
    std::vector<std::uint64_t> initialisers; ///< offsets
    std::vector<Interposed> interposed;
    std::map<std::string, std::uint64_t> exports; ///< offsets by symbol
    std::vector<std::string> libraries;           ///< names of those it is linked with
    std::optional<std::uint64_t> entry;           ///< a program's main, an offset
    bool chained = false;                         ///< else the classic opcodes

    [[nodiscard]] std::set<std::string> imports() const;
};

/// Reads a thin file, or the slice of a universal one; the error is a sentence.
[[nodiscard]] std::expected<Image, std::string> parse_image(Bytes file, Cpu cpu);

[[nodiscard]] std::expected<Image, std::string> read_image(const std::string& path, Cpu cpu);

/// Where an import is; 0 if nowhere.
using Resolve = std::function<std::uint64_t(const std::string& import)>;

/// The image's memory for use at the address. The error names an import that is missing.
[[nodiscard]] std::expected<std::vector<std::byte>, std::string>
place_image(const Image& image, std::uint64_t address, const Resolve& resolve);

} // namespace emulation
