// SPDX-License-Identifier: MIT
//
// What holds for the facts of every signature, however damaged the file that they were read from.
#pragma once

#include "fuzz_input.hpp"
#include "macho/code_directory.hpp"
#include "macho/code_signature.hpp"

#include <expected>

namespace metalrun::tests {

using SignatureResult = std::expected<macho::CodeSignature, macho::Malformed>;

/// xnu's order: SHA-1, truncated SHA-256, SHA-256, SHA-384.
inline int rank_of(macho::HashType type) {
    using enum macho::HashType;
    return type == sha1 ? 0 : type == sha256_truncated ? 1 : type == sha256 ? 2 : 3;
}

inline std::uint64_t pages_of(const macho::CodeDirectory& directory) {
    return (directory.code_limit + directory.page_size_bytes - 1) / directory.page_size_bytes;
}

/// Each range that is told lies inside the slice, and the numbers agree with each other.
inline void require_inside(const macho::CodeSignature& signature, std::uint64_t slice_size) {
    require(signature.best_index < signature.directories.size(), "the best directory is there");
    for (const macho::CodeDirectory& directory : signature.directories) {
        const std::uint64_t hash_size = macho::hash_size_of(directory.hash_type);
        require(fits(directory.offset_in_slice, directory.length, slice_size),
                "a directory lies inside its slice");
        require(fits(directory.hash_offset, directory.code_slots * hash_size, directory.length),
                "page hashes lie inside their directory");
        require(directory.special_slots * hash_size <= directory.hash_offset,
                "slot hashes lie inside their directory");
        require(directory.code_limit <= slice_size, "the code limit lies inside the slice");
        require(directory.page_size_bytes == 0x1000 || directory.page_size_bytes == 0x4000,
                "a page has 4 or 16 KiB");
        require(pages_of(directory) == directory.code_slots || directory.is_scattered,
                "each page has a hash");
        require(directory.scatter.size() <= macho::kMostScatter, "scattered parts are capped");
        require(directory.cdhash.empty() || directory.cdhash.size() == 40,
                "a cdhash has 40 digits");
        require(rank_of(signature.best().hash_type) >= rank_of(directory.hash_type),
                "the best directory has the best hash");
    }
    require((signature.kind == macho::SignatureKind::cms) == (signature.cms_bytes != 0),
            "a signature with a CMS is of that kind");
    require(!signature.cms || signature.cms_bytes != 0, "only a CMS has a digest");
    require(signature.cms_bytes <= slice_size, "the CMS lies inside the slice");
}

/// What Depth::verify says is more, never something else.
inline void require_agreement(const SignatureResult& decide, const SignatureResult& verify) {
    require(decide || !verify, "what is bad when deciding is bad when verifying");
    if (!decide || !verify) {
        return;
    }
    macho::CodeSignature less = *verify;
    for (std::size_t i = 0; i < less.directories.size() && i < decide->directories.size(); ++i) {
        if (decide->directories[i].cdhash.empty()) {
            less.directories[i].cdhash.clear();
        }
    }
    if (!decide->cms) {
        less.cms.reset();
    }
    require(*decide == less, "deciding and verifying say the same");
}

} // namespace metalrun::tests
