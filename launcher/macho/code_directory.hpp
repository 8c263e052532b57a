// SPDX-License-Identifier: MIT
//
// One code directory of a super blob: its header with the fields that its version has, its strings
// and the hashes of its special slots (struct __CodeDirectory of kern/cs_blobs.h).
#pragma once

#include "macho/code_signature.hpp"
#include "macho/source.hpp"
#include "system/digest.hpp"

#include <array>
#include <cstdint>
#include <expected>
#include <string>

namespace metalrun::macho {

/// Slots above this are not looked at: the kernel knows none.
inline constexpr std::uint32_t kMostSpecialSlots = 11;

/// What the hashes of a directory are compared with, apart from pages.
struct DirectoryFacts {
    CodeDirectory directory;
    /// Hexadecimal digits by slot number; empty: no hash, or all zero.
    std::array<std::string, kMostSpecialSlots + 1> special_hashes;
};

/// The function behind a hash type; a truncated hash is the begin of it.
[[nodiscard]] DigestKind digest_kind_of(HashType type);

/// The part of a signature where a directory lies.
struct DirectoryPlace {
    std::uint32_t slot = 0;
    std::uint64_t offset = 0; ///< in the signature
    std::uint64_t length = 0;
};

/// `signature` begins with the super blob, or is a bare directory; the place lies inside it.
[[nodiscard]] std::expected<DirectoryFacts, Malformed>
parse_code_directory(const Source& signature, const DirectoryPlace& place);

} // namespace metalrun::macho
