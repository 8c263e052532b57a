// SPDX-License-Identifier: MIT
//
// The content of LC_CODE_SIGNATURE: super blob, code directories, entitlements, the other slots
// (kern/cs_blobs.h; rules: xnu bsd/kern/ubc_subr.c cs_validate_csblob, and the corpus RULES,
// "bad-signature"). Hash slots of code pages are not read here: page_hashes.hpp does that.
#pragma once

#include "macho/cms.hpp"
#include "macho/entitlements.hpp"
#include "macho/source.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::macho {

struct Image;

enum class HashType : std::uint8_t { sha1 = 1, sha256 = 2, sha256_truncated = 3, sha384 = 4 };

[[nodiscard]] std::string_view hash_type_name(HashType type);
[[nodiscard]] std::uint64_t hash_size_of(HashType type);

/// Consecutive pages that have hashes (struct __SC_Scatter; its offset of a target is not used).
struct Scatter {
    std::uint32_t first_page = 0;
    std::uint32_t pages = 0;

    bool operator==(const Scatter&) const = default;
};

struct CodeDirectory {
    std::uint32_t slot = 0; ///< 0, or 0x1000 … for an alternate one
    std::uint64_t offset_in_slice = 0;
    std::uint64_t length = 0;
    std::uint32_t version = 0;
    std::uint32_t flags = 0; ///< CS_*
    HashType hash_type = HashType::sha256;
    std::uint64_t hash_offset = 0; ///< of code slot 0, in the directory
    std::uint32_t special_slots = 0;
    std::uint32_t code_slots = 0;
    std::uint64_t code_limit = 0;   ///< bytes of the slice that are hashed
    bool has_code_limit_64 = false; ///< the limit is in the field for large files
    /// Hashes are of the pages in `scatter` only. The kernel honours it; no known tool writes it.
    bool is_scattered = false;
    std::vector<Scatter> scatter;      ///< in order
    std::uint64_t page_size_bytes = 0; ///< 4096 or 16384
    std::string identifier;
    std::optional<std::string> team; ///< absent before version 0x20200
    std::uint8_t platform = 0;       ///< not 0: says that it is Apple's
    std::uint64_t exec_segment_base = 0;
    std::uint64_t exec_segment_limit = 0;
    std::uint64_t exec_segment_flags = 0;
    std::uint32_t runtime_version = 0;
    std::string cdhash; ///< 40 hexadecimal digits; empty: not computed (Depth::decide, large)

    bool operator==(const CodeDirectory&) const = default;
};

enum class SignatureKind : std::uint8_t {
    adhoc, ///< no CMS, or an empty one
    cms,
};

struct CodeSignature {
    SignatureKind kind = SignatureKind::adhoc;
    std::vector<CodeDirectory> directories; ///< at least one
    std::size_t best_index = 0;             ///< the one whose hash ranks highest: it counts
    Entitlements entitlements;
    std::vector<std::uint32_t> constraint_slots; ///< of 8, 9, 10, 11: those that are there
    std::uint64_t cms_bytes = 0;                 ///< without the blob's header
    /// What the signer signed; it is the digest of the directory in slot 0, otherwise the signature
    /// is bad. The signature over it and its certificates are not verified. Absent: no CMS, or too
    /// large to be read at Depth::decide.
    std::optional<CmsFacts> cms;
    bool has_overlapping_blobs = false;

    [[nodiscard]] const CodeDirectory& best() const { return directories[best_index]; }
    [[nodiscard]] bool has_flag(std::uint32_t flag) const { return (best().flags & flag) != 0; }
    /// CS_REQUIRE_LV, CS_FORCED_LV, or the hardened runtime without the entitlement that lifts it.
    [[nodiscard]] bool has_library_validation() const;
    [[nodiscard]] bool is_hardened() const;

    bool operator==(const CodeSignature&) const = default;
};

/// "adhoc", "runtime", "linker-signed" …; bits without a name as "0x40".
[[nodiscard]] std::vector<std::string> flag_names(std::uint32_t flags);

/// How much is read. The answer of `verify` holds more, never something else, except that a
/// problem in parts which `decide` leaves unread can only be found by it.
enum class Depth : std::uint8_t {
    decide, ///< the run path: large directories and blobs are not read whole
    verify, ///< cdhash, CMS digest and slot hashes whatever their size
};

/// The kernel's own limit for a signature.
inline constexpr std::uint64_t kLargestSignature = std::uint64_t{40} << 20U;
/// Up to this size a directory or another blob is hashed at Depth::decide too, as long as all
/// that is hashed is not more than kMostHashed.
inline constexpr std::uint64_t kSmallBlob = std::uint64_t{256} << 10U;
inline constexpr std::uint64_t kMostHashed = std::uint64_t{512} << 10U;
/// Larger property lists are not believed (real ones: below 16 KiB).
inline constexpr std::uint64_t kLargestEntitlements = std::uint64_t{256} << 10U;
inline constexpr std::uint32_t kMostBlobs = 64;
/// More scattered parts are not believed.
inline constexpr std::uint32_t kMostScatter = 256;
inline constexpr std::string_view kAllowDyldVariables =
    "com.apple.security.cs.allow-dyld-environment-variables";
inline constexpr std::string_view kDisableLibraryValidation =
    "com.apple.security.cs.disable-library-validation";

/// `slice` is the one that `image` was parsed from; `image.code_signature` is there. Errors: a
/// structure or content that makes the signature bad, page hashes excepted.
[[nodiscard]] std::expected<CodeSignature, Malformed>
parse_code_signature(const Source& slice, const Image& image, Depth depth);

} // namespace metalrun::macho
