// SPDX-License-Identifier: MIT
#include "macho/code_signature.hpp"

#include "macho/cms.hpp"
#include "macho/code_directory.hpp"
#include "macho/format.hpp"
#include "macho/image.hpp"
#include "macho/super_blob.hpp"
#include "report/text.hpp"
#include "system/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::macho {

namespace {

constexpr std::size_t kCdhashDigits = 40;

using Step = std::expected<void, Malformed>;

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

// Turns the blobs of one signature into its facts.
class Parser {
public:
    Parser(const Source& area, std::uint64_t offset_in_slice, Depth depth)
        : area_(area), offset_in_slice_(offset_in_slice), depth_(depth) {}

    std::expected<CodeSignature, Malformed> parse(const Blobs& found) {
        const std::vector<Blob>& blobs = found.blobs;
        signature_.has_overlapping_blobs = found.overlap;
        for (const auto step : {&Parser::directories, &Parser::constraints, &Parser::entitlements,
                                &Parser::slot_hashes, &Parser::cms}) {
            if (Step done = (this->*step)(blobs); !done) {
                return std::unexpected(std::move(done.error()));
            }
        }
        return std::move(signature_);
    }

private:
    // Blobs can lie in each other, and each is hashed for each directory.
    [[nodiscard]] bool is_worth_hashing(std::uint64_t length) {
        if (depth_ == Depth::verify) {
            return true;
        }
        if (length > kSmallBlob || length > left_to_hash_) {
            return false;
        }
        left_to_hash_ -= length;
        return true;
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
        using List = std::expected<EntitlementList, Malformed>;
        const auto parsed = [&](std::uint32_t slot, List read(Bytes)) -> std::optional<List> {
            const auto bytes = content(blobs, slot);
            if (!bytes) {
                return std::nullopt;
            }
            return *bytes ? read(**bytes) : List(std::unexpected(bytes->error()));
        };
        auto xml = parsed(kSlotEntitlements, parse_xml_entitlements);
        auto der = parsed(kSlotDerEntitlements, parse_der_entitlements);
        Entitlements& out = signature_.entitlements;
        out.has_xml = xml.has_value();
        out.has_der = der.has_value();
        const auto problem_of = [](const std::optional<List>& list) {
            return list && !*list ? list->error().message : std::string{};
        };
        out.xml_problem = problem_of(xml);
        out.der_problem = problem_of(der);
        if (der && *der) {
            out.disagree = xml && (!*xml || !say_the_same(**xml, **der));
            out.source = EntitlementSource::der;
            out.entries = std::move(**der);
        } else if (xml && *xml) {
            out.disagree = der.has_value();
            out.source = EntitlementSource::xml;
            out.entries = std::move(**xml);
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
                                 const DirectoryFacts& facts) {
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

    [[nodiscard]] bool agrees(const Blob& blob, const DirectoryFacts& facts) {
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
        signature_.cms = *facts;
        return {};
    }

    const Source& area_;
    std::uint64_t offset_in_slice_;
    Depth depth_;
    std::uint64_t left_to_hash_ = kMostHashed;
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
    const auto found = read_blobs(slice.part(range.offset, range.size));
    if (!found) {
        return std::unexpected(found.error());
    }
    return Parser(found->area, range.offset, depth).parse(*found);
}

} // namespace metalrun::macho
