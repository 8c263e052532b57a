// SPDX-License-Identifier: MIT
//
// All that metalrun knows of a Mach-O file: container, slices, and each slice's image and code
// signature. Reads the header, the load commands and the small parts of the signature; judging a
// program of any size at Depth::decide reads at most 1 MiB of each slice, unless its commands or
// entitlements alone come near to what is believed of them.
#pragma once

#include "macho/code_signature.hpp"
#include "macho/image.hpp"
#include "macho/page_hashes.hpp"
#include "macho/source.hpp"
#include "macho/universal.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace metalrun::macho {

struct SliceFacts {
    std::uint32_t cputype = 0;    ///< as the universal header says (thin: the image's own)
    std::uint32_t cpusubtype = 0; ///< all 32 bits
    std::string name;             ///< "arm64", "arm64e", "x86_64", … (architecture_name)
    std::uint64_t offset = 0;     ///< in the file
    std::uint64_t size = 0;
    std::expected<Image, Malformed> image;
    /// Absent: no LC_CODE_SIGNATURE, or no image.
    std::optional<std::expected<CodeSignature, Malformed>> signature;

    bool operator==(const SliceFacts&) const = default;
};

struct FileFacts {
    Container container = Container::thin;
    std::vector<SliceFacts> slices; ///< in the file's order, at least one
    /// Why dyld of macOS 26 and later refuses this library because of any of its slices, as one
    /// sentence (mach_o/Universal.cpp valid(), dyld 1323); earlier ones pass over such a slice.
    std::optional<std::string> dyld_problem;

    bool operator==(const FileFacts&) const = default;
};

/// Errors: not a Mach-O file (is_macho is false), or a container that cannot be believed. Damage
/// within one slice is in that slice's facts.
[[nodiscard]] std::expected<FileFacts, Malformed> read_facts(const File& file,
                                                             Depth depth = Depth::decide);

/// The page hashes of one slice of that file; nothing to check (all 0) if it has no good signature.
/// `workers` as in page_hashes.hpp.
[[nodiscard]] PageCheck check_pages(const File& file, const SliceFacts& slice,
                                    unsigned workers = 1);

} // namespace metalrun::macho
