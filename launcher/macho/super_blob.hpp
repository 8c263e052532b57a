// SPDX-License-Identifier: MIT
//
// The outer layer of a code signature: the super blob's index and the blobs that it names
// (xnu bsd/kern/ubc_subr.c cs_validate_csblob, struct __SC_SuperBlob of kern/cs_blobs.h).
#pragma once

#include "macho/source.hpp"

#include <cstdint>
#include <expected>
#include <vector>

namespace metalrun::macho {

inline constexpr std::uint64_t kBlobHeaderSize = 8; ///< magic number and length

struct Blob {
    std::uint32_t slot = 0;
    std::uint32_t magic = 0;
    std::uint64_t offset = 0; ///< in the signature
    std::uint64_t length = 0; ///< its header included; the blob lies inside the signature
};

/// What one signature consists of: a super blob's blobs, or one bare code directory.
struct Blobs {
    Source area;             ///< the signature, without what may follow it
    std::vector<Blob> blobs; ///< in the index' order, at most kMostBlobs
    bool overlap = false;    ///< two of them, or one and the index, have a byte in common
};

/// Of slots 0 and 0x1000 to 0x1004.
[[nodiscard]] bool is_directory_slot(std::uint32_t slot);
/// Of slots 8 to 11: launch and library constraints.
[[nodiscard]] bool is_constraint_slot(std::uint32_t slot);

/// `area` is what LC_CODE_SIGNATURE names; it may be longer than the signature. Errors: an index
/// or blob outside the signature; a slot of known kind with another magic number, or there twice.
[[nodiscard]] std::expected<Blobs, Malformed> read_blobs(const Source& area);

} // namespace metalrun::macho
