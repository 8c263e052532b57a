// SPDX-License-Identifier: MIT
#include "macho/code_signature.hpp"

#include "macho/cms.hpp"
#include "macho/code_directory.hpp"
#include "macho/format.hpp"
#include "macho/image.hpp"
#include "report/text.hpp"
#include "system/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::macho {

namespace {

constexpr std::uint64_t kBlobHeaderSize = 8;
constexpr std::uint64_t kSuperBlobSize = 12;
constexpr std::uint64_t kIndexEntrySize = 8;
constexpr std::size_t kCdhashDigits = 40;

using Step = std::expected<void, Malformed>;

struct Blob {
    std::uint32_t slot = 0;
    std::uint32_t magic = 0;
    std::uint64_t offset = 0; // in the signature
    std::uint64_t length = 0; // its header included
};

bool is_directory_slot(std::uint32_t slot) {
    return slot == kSlotCodeDirectory ||
           (slot >= kSlotAlternateCodeDirectories &&
            slot < kSlotAlternateCodeDirectories + kMostAlternateCodeDirectories);
}

bool is_constraint_slot(std::uint32_t slot) {
    return slot >= kSlotLaunchConstraintSelf && slot <= kSlotLibraryConstraint;
}

// Slots that the kernel wants once at most, with their magic number, and hashed.
std::uint32_t strict_magic_of(std::uint32_t slot) {
    return is_constraint_slot(slot)       ? kMagicLaunchConstraint
           : slot == kSlotEntitlements    ? kMagicEntitlements
           : slot == kSlotDerEntitlements ? kMagicDerEntitlements
           : is_directory_slot(slot)      ? kMagicCodeDirectory
                                          : 0;
}

int rank_of(HashType type) {
    switch (type) {
    case HashType::sha1:
        return 0;
    case HashType::sha256_truncated:
        return 1;
    case HashType::sha256:
        return 2;
    case HashType::sha384:
        return 3;
    }
    return -1;
}

// The digest of a part, in pieces, so that its size costs no memory.
std::optional<std::string> digest_of(const Source& source, std::uint64_t offset,
                                     std::uint64_t length, DigestKind kind) {
    constexpr std::uint64_t kPiece = std::uint64_t{64} << 10U;
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(length, kPiece)));
    Digest digest(kind);
    while (length != 0) {
        const std::span<std::byte> piece =
            std::span(buffer).first(static_cast<std::size_t>(std::min(length, kPiece)));
        if (!source.read_into(offset, piece)) {
            return std::nullopt;
        }
        digest.update(piece);
        offset += piece.size();
        length -= piece.size();
    }
    return hex(digest.finish().view());
}

std::expected<Blob, Malformed> read_blob(const Source& area, std::uint32_t slot,
                                         std::uint64_t offset) {
    const auto header = area.read(offset, kBlobHeaderSize);
    if (!header) {
        return malformed(text::format("the blob of slot {:#x} at {:#x} lies beyond the end of the "
                                      "signature at {:#x}",
                                      slot, offset, area.size()));
    }
    const Blob blob{.slot = slot,
                    .magic = read_be<std::uint32_t>(*header, 0).value_or(0),
                    .offset = offset,
                    .length = read_be<std::uint32_t>(*header, 4).value_or(0)};
    if (blob.length < kBlobHeaderSize || !fits(offset, blob.length, area.size())) {
        return malformed(text::format("the blob of slot {:#x} at {:#x} has {:#x} bytes; the "
                                      "signature ends at {:#x}",
                                      slot, offset, blob.length, area.size()));
    }
    return blob;
}

std::expected<std::vector<Blob>, Malformed> read_index(const Source& area, std::uint64_t count) {
    const auto index = area.read(kSuperBlobSize, count * kIndexEntrySize);
    if (count > kMostBlobs || !index) {
        return malformed(text::format("the super blob of {:#x} bytes cannot hold {} blobs (at most "
                                      "{} are believed)",
                                      area.size(), count, kMostBlobs));
    }
    std::vector<Blob> blobs;
    for (std::uint64_t at = 0; at < index->size(); at += kIndexEntrySize) {
        const auto slot = read_be<std::uint32_t>(*index, at).value_or(0);
        const auto offset = read_be<std::uint32_t>(*index, at + 4).value_or(0);
        const auto blob = read_blob(area, slot, offset);
        if (!blob) {
            return std::unexpected(blob.error());
        }
        const std::uint32_t magic = strict_magic_of(slot);
        if (magic != 0 && blob->magic != magic) {
            return malformed(text::format("the blob of slot {:#x} has magic number {:#x}, {:#x} "
                                          "was expected",
                                          slot, blob->magic, magic));
        }
        const bool is_again = std::ranges::count(blobs, slot, &Blob::slot) != 0;
        if (magic != 0 && is_again && !is_directory_slot(slot)) {
            return malformed(text::format("slot {:#x} is there twice", slot));
        }
        blobs.push_back(*blob);
    }
    return blobs;
}

bool overlap(std::vector<Blob> blobs) {
    std::ranges::sort(blobs, {}, &Blob::offset);
    std::uint64_t end = kSuperBlobSize + blobs.size() * kIndexEntrySize;
    for (const Blob& blob : blobs) {
        if (blob.offset < end) {
            return true;
        }
        end = blob.offset + blob.length;
    }
    return false;
}

// Turns the blobs of one signature into its facts.
class Parser {
public:
    Parser(const Source& area, std::uint64_t offset_in_slice, Depth depth)
        : area_(area), offset_in_slice_(offset_in_slice), depth_(depth) {}

    std::expected<CodeSignature, Malformed> parse(const std::vector<Blob>& blobs) {
        for (const auto step : {&Parser::directories, &Parser::constraints, &Parser::entitlements,
                                &Parser::slot_hashes, &Parser::cms}) {
            if (Step done = (this->*step)(blobs); !done) {
                return std::unexpected(std::move(done.error()));
            }
        }
        return std::move(signature_);
    }

private:
    [[nodiscard]] bool is_worth_hashing(std::uint64_t length) const {
        return depth_ == Depth::verify || length <= kSmallBlob;
    }

    Step directories(const std::vector<Blob>& blobs) {
        for (const Blob& blob : blobs) {
            if (!is_directory_slot(blob.slot)) {
                continue;
            }
            const DirectoryPlace place{
                .slot = blob.slot, .offset = blob.offset, .length = blob.length};
            auto facts = parse_code_directory(area_, place);
            if (!facts) {
                return std::unexpected(std::move(facts.error()));
            }
            if (Step step = add(std::move(*facts)); !step) {
                return step;
            }
        }
        if (directories_.empty()) {
            return malformed("the signature has no code directory");
        }
        CodeDirectory& best = signature_.directories[signature_.best_index];
        if (is_worth_hashing(best.length)) {
            best_digest_ = directory_digest(best, digest_kind_of(best.hash_type)).value_or("");
            best.cdhash = best_digest_.substr(0, kCdhashDigits);
        }
        return {};
    }

    [[nodiscard]] std::optional<std::string> directory_digest(const CodeDirectory& directory,
                                                              DigestKind kind) const {
        return digest_of(area_, directory.offset_in_slice - offset_in_slice_, directory.length,
                         kind);
    }

    Step add(DirectoryFacts facts) {
        CodeDirectory& directory = facts.directory;
        const std::uint64_t place = directory.offset_in_slice;
        for (const CodeDirectory& earlier : signature_.directories) {
            if (earlier.hash_type == directory.hash_type) {
                return malformed(text::format("two code directories have {} hashes",
                                              hash_type_name(directory.hash_type)));
            }
        }
        if (directory.code_limit < offset_in_slice_) {
            return malformed(text::format("the code directory at {:#x} of the signature covers "
                                          "{:#x} bytes, not all up to the signature at {:#x}",
                                          place, directory.code_limit, offset_in_slice_));
        }
        if (directory.code_limit > offset_in_slice_ + area_.size()) {
            return malformed(text::format("the code directory at {:#x} of the signature covers "
                                          "{:#x} bytes, beyond the signature's end at {:#x}",
                                          place, directory.code_limit,
                                          offset_in_slice_ + area_.size()));
        }
        directory.offset_in_slice = offset_in_slice_ + place;
        signature_.directories.push_back(directory);
        const std::size_t added = signature_.directories.size() - 1;
        if (rank_of(directory.hash_type) > rank_of(signature_.best().hash_type)) {
            signature_.best_index = added;
        }
        directories_.push_back(std::move(facts));
        return {};
    }

    Step constraints(const std::vector<Blob>& blobs) {
        for (const Blob& blob : blobs) {
            if (is_constraint_slot(blob.slot)) {
                signature_.constraint_slots.push_back(blob.slot);
            }
        }
        std::ranges::sort(signature_.constraint_slots);
        signature_.has_overlapping_blobs = blobs.size() > 1 && overlap(blobs);
        return {};
    }

    // The content of the blob in this slot; absent: no such blob.
    [[nodiscard]] std::optional<std::expected<std::vector<std::byte>, Malformed>>
    content(const std::vector<Blob>& blobs, std::uint32_t slot) const {
        const auto blob = std::ranges::find(blobs, slot, &Blob::slot);
        if (blob == blobs.end()) {
            return std::nullopt;
        }
        if (blob->length > kLargestEntitlements) {
            return malformed(text::format("the entitlements at {:#x} have {:#x} bytes, at most "
                                          "{:#x} are believed",
                                          blob->offset, blob->length, kLargestEntitlements));
        }
        auto bytes = area_.read(blob->offset + kBlobHeaderSize, blob->length - kBlobHeaderSize);
        if (!bytes) {
            return malformed(
                text::format("the entitlements at {:#x} cannot be read", blob->offset));
        }
        return std::move(*bytes);
    }

    Step entitlements(const std::vector<Blob>& blobs) {
        const auto xml_bytes = content(blobs, kSlotEntitlements);
        const auto der_bytes = content(blobs, kSlotDerEntitlements);
        using List = std::expected<EntitlementList, Malformed>;
        std::optional<List> xml;
        std::optional<List> der;
        if (xml_bytes) {
            xml = *xml_bytes ? parse_xml_entitlements(**xml_bytes)
                             : List(std::unexpected(xml_bytes->error()));
        }
        if (der_bytes) {
            der = *der_bytes ? parse_der_entitlements(**der_bytes)
                             : List(std::unexpected(der_bytes->error()));
        }
        if (der && *der) {
            signature_.entitlements = {
                .source = EntitlementSource::der, .entries = std::move(**der), .disagree = false};
            signature_.entitlements.disagree =
                xml && (!*xml || !say_the_same(**xml, signature_.entitlements.entries));
        } else if (xml && *xml) {
            signature_.entitlements = {.source = EntitlementSource::xml,
                                       .entries = std::move(**xml),
                                       .disagree = der.has_value()};
        } else if (der || xml) {
            return std::unexpected(std::move((der ? *der : *xml).error()));
        }
        return {};
    }

    static bool say_the_same(EntitlementList one, EntitlementList other) {
        std::ranges::sort(one, {}, &Entitlement::key);
        std::ranges::sort(other, {}, &Entitlement::key);
        return one == other;
    }

    // Hashes of slots 2, 5 and 7 to 11 in every directory. Slots 1 and 3 are files elsewhere.
    Step slot_hashes(const std::vector<Blob>& blobs) {
        for (const std::uint32_t slot : {2U, 5U, 7U, 8U, 9U, 10U, 11U}) {
            const auto found = std::ranges::find(blobs, slot, &Blob::slot);
            const Blob* blob = found == blobs.end() ? nullptr : &*found;
            for (const DirectoryFacts& facts : directories_) {
                if (Step step = slot_hash(slot, blob, facts); !step) {
                    return step;
                }
            }
        }
        return {};
    }

    [[nodiscard]] Step slot_hash(std::uint32_t slot, const Blob* blob,
                                 const DirectoryFacts& facts) const {
        const bool has_hash = !facts.special_hashes.at(slot).empty();
        if (blob != nullptr && has_hash) {
            if (!agrees(*blob, facts)) {
                return malformed(text::format("the blob of slot {} does not have the {} hash that "
                                              "the code directory gives",
                                              slot, hash_type_name(facts.directory.hash_type)));
            }
            return {};
        }
        // The kernel asks for no requirements, and so for no hash of them.
        const bool may_differ = slot == kSlotRequirements;
        if (blob != nullptr && !may_differ) {
            return malformed(text::format("slot {} has a blob, but no hash", slot));
        }
        if (has_hash && !may_differ) {
            return malformed(text::format("slot {} has a hash, but no blob", slot));
        }
        return {};
    }

    [[nodiscard]] bool agrees(const Blob& blob, const DirectoryFacts& facts) const {
        if (!is_worth_hashing(blob.length)) {
            return true;
        }
        const HashType type = facts.directory.hash_type;
        const auto digest = digest_of(area_, blob.offset, blob.length, digest_kind_of(type));
        return digest && digest->substr(0, 2 * static_cast<std::size_t>(hash_size_of(type))) ==
                             facts.special_hashes.at(blob.slot);
    }

    Step cms(const std::vector<Blob>& blobs) {
        const auto blob = std::ranges::find(blobs, kSlotCms, &Blob::slot);
        const bool has_cms = blob != blobs.end() && blob->magic == kMagicBlobWrapper;
        signature_.cms_bytes = has_cms ? blob->length - kBlobHeaderSize : 0;
        if (signature_.cms_bytes == 0) {
            if (!signature_.has_flag(kCsAdhoc)) {
                return malformed("the signature is neither flagged ad-hoc nor signed by anyone");
            }
            return {};
        }
        signature_.kind = SignatureKind::cms;
        const auto signed_one =
            std::ranges::find(signature_.directories, kSlotCodeDirectory, &CodeDirectory::slot);
        if (signed_one == signature_.directories.end()) {
            return malformed("the CMS signature has no code directory in slot 0 to sign");
        }
        if (!is_worth_hashing(blob->length) || !is_worth_hashing(signed_one->length)) {
            return {};
        }
        const auto bytes = area_.read(blob->offset + kBlobHeaderSize, signature_.cms_bytes);
        const auto facts = bytes ? parse_cms(*bytes) : malformed("the CMS cannot be read");
        if (!facts) {
            return std::unexpected(facts.error());
        }
        // Nearly always the best directory was signed, with the function of its own hashes.
        const bool is_known = &*signed_one == &signature_.best() &&
                              facts->digest_kind == digest_kind_of(signed_one->hash_type);
        const auto digest =
            is_known ? best_digest_ : directory_digest(*signed_one, facts->digest_kind);
        if (digest != facts->message_digest) {
            return malformed("the CMS signature was made for another code directory");
        }
        return {};
    }

    const Source& area_;
    std::uint64_t offset_in_slice_;
    Depth depth_;
    CodeSignature signature_;
    std::string best_digest_; // hexadecimal, whole; empty: not computed
    std::vector<DirectoryFacts> directories_;
};

struct NamedFlag {
    std::uint32_t flag;
    std::string_view name;
};

// As codesign(1) names them.
constexpr std::array kFlagNames{
    NamedFlag{0x1, "host"},
    NamedFlag{kCsAdhoc, "adhoc"},
    NamedFlag{kCsForcedLv, "forced-library-validation"},
    NamedFlag{kCsHard, "hard"},
    NamedFlag{kCsKill, "kill"},
    NamedFlag{0x400, "expires"},
    NamedFlag{kCsRestrict, "restrict"},
    NamedFlag{0x1000, "enforcement"},
    NamedFlag{kCsRequireLv, "library-validation"},
    NamedFlag{kCsRuntime, "runtime"},
    NamedFlag{kCsLinkerSigned, "linker-signed"},
};

} // namespace

bool CodeSignature::is_hardened() const {
    return has_flag(kCsRuntime);
}

bool CodeSignature::has_library_validation() const {
    return has_flag(kCsRequireLv | kCsForcedLv) ||
           (is_hardened() && !entitlements.is_true(kDisableLibraryValidation));
}

std::vector<std::string> flag_names(std::uint32_t flags) {
    std::vector<std::string> names;
    for (const NamedFlag& known : kFlagNames) {
        if ((flags & known.flag) != 0) {
            names.emplace_back(known.name);
            flags &= ~known.flag;
        }
    }
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1U) {
        if ((flags & bit) != 0) {
            names.push_back(text::format("{:#x}", bit));
        }
    }
    return names;
}

std::expected<CodeSignature, Malformed> parse_code_signature(const Source& slice,
                                                             const Image& image, Depth depth) {
    const CodeSignatureRange range = image.code_signature.value_or(CodeSignatureRange{});
    if (!fits(range.offset, range.size, slice.size())) {
        return malformed(text::format("the signature of {:#x} bytes at {:#x} lies beyond the end "
                                      "of the slice at {:#x}",
                                      range.size, range.offset, slice.size()));
    }
    if (range.size > kLargestSignature) {
        return malformed(text::format("the signature has {:#x} bytes, the kernel takes {:#x}",
                                      range.size, kLargestSignature));
    }
    const auto outer = read_blob(slice.part(range.offset, range.size), kSlotCodeDirectory, 0);
    if (!outer) {
        return std::unexpected(outer.error());
    }
    const Source area = slice.part(range.offset, outer->length);
    if (outer->magic == kMagicCodeDirectory) {
        return Parser(area, range.offset, depth).parse({*outer});
    }
    if (outer->magic != kMagicEmbeddedSignature || outer->length < kSuperBlobSize) {
        return malformed(text::format("the signature begins with {:#x} and has {} bytes; a super "
                                      "blob was expected",
                                      outer->magic, outer->length));
    }
    const auto count = read_be<std::uint32_t>(area.first(), 8).value_or(0);
    const auto blobs = read_index(area, count);
    if (!blobs) {
        return std::unexpected(blobs.error());
    }
    return Parser(area, range.offset, depth).parse(*blobs);
}

} // namespace metalrun::macho
