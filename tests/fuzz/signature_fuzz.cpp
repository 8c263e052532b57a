// SPDX-License-Identifier: MIT
//
// Any bytes as the content of LC_CODE_SIGNATURE: super blob, code directories, entitlements, CMS.
// They lie in a slice that is as long as they want it to be, behind as many zeros as the first code
// directory says that it covers; and they are tried once more with the slot hashes made right,
// which no mutation of a blob would come upon.
#include "fuzz_input.hpp"
#include "macho/format.hpp"
#include "macho/image.hpp"
#include "signature_checks.hpp"
#include "system/digest.hpp"

#include <array>
#include <vector>

namespace {

using namespace metalrun;
using tests::require;

constexpr std::uint64_t kMostCode = std::uint64_t{64} << 10U;
constexpr std::uint64_t kMostWanted = macho::kSmallBlob + (std::uint64_t{64} << 10U);

std::uint32_t be32(Bytes bytes, std::uint64_t offset) {
    return read_be<std::uint32_t>(bytes, offset).value_or(0);
}

struct Blob {
    std::uint32_t slot = 0;
    std::uint64_t offset = 0;
    Bytes bytes;
};

std::vector<Blob> blobs_of(Bytes signature) {
    std::vector<Blob> blobs;
    for (std::uint32_t i = 0; i < std::min(be32(signature, 8), macho::kMostBlobs); ++i) {
        const std::uint32_t offset = be32(signature, 16 + 8 * i);
        if (const auto bytes = slice(signature, offset, be32(signature, offset + 4))) {
            blobs.push_back({be32(signature, 12 + 8 * i), offset, *bytes});
        }
    }
    return blobs;
}

void mend_slot(std::vector<std::byte>& signature, const Blob& directory, const Blob& blob) {
    const std::uint64_t hashes = be32(directory.bytes, 16);
    const auto hash_size = read_be<std::uint8_t>(directory.bytes, 36).value_or(0);
    const auto hash_type = read_be<std::uint8_t>(directory.bytes, 37).value_or(0);
    const std::uint64_t back = std::uint64_t{blob.slot} * hash_size;
    if (blob.slot == 0 || blob.slot > be32(directory.bytes, 24) || back > hashes || hash_type < 1 ||
        hash_type > 4 || !fits(hashes - back, hash_size, directory.bytes.size())) {
        return;
    }
    const DigestValue value =
        digest(macho::digest_kind_of(static_cast<macho::HashType>(hash_type)), blob.bytes);
    const Bytes hash = value.view().first(std::min<std::size_t>(value.size, hash_size));
    std::ranges::copy(hash, std::span(signature).subspan(directory.offset + hashes - back).begin());
}

std::vector<std::byte> mended(Bytes signature) {
    std::vector<std::byte> copy(signature.begin(), signature.end());
    const std::vector<Blob> blobs = blobs_of(copy);
    for (const Blob& directory : blobs) {
        for (const Blob& blob : blobs) {
            if (be32(directory.bytes, 0) == macho::kMagicCodeDirectory &&
                blob.slot <= macho::kMostSpecialSlots) {
                mend_slot(copy, directory, blob);
            }
        }
    }
    return copy;
}

std::uint64_t code_size(Bytes signature) {
    for (const Blob& blob : blobs_of(signature)) {
        if (be32(blob.bytes, 0) == macho::kMagicCodeDirectory) {
            return be32(blob.bytes, 32);
        }
    }
    return 0;
}

// What deciding may read of a signature: what is hashed, the CMS, the entitlements, scattered parts
// and the headers.
constexpr std::uint64_t kMostRead = macho::kMostHashed + macho::kSmallBlob +
                                    2 * macho::kLargestEntitlements + (std::uint64_t{512} << 10U);

void try_signature(Bytes bytes) {
    const std::uint64_t code = std::min(code_size(bytes), kMostCode);
    // Zeros fill a signature that is somewhat larger than what is always read whole; they would
    // make most inputs slow if they filled all of them.
    const std::uint64_t wanted = be32(bytes, 4);
    const bool is_large = wanted > macho::kSmallBlob && wanted <= kMostWanted;
    const std::uint64_t behind = is_large && wanted > bytes.size() ? wanted - bytes.size() : 0;
    const tests::PaddedFile file(bytes, code, behind);
    const macho::Source slice(file, 0, file.status().size_bytes);
    macho::Image image;
    image.code_signature = {.offset = code, .size = slice.size() - code};
    const std::uint64_t before = file.read_bytes();
    const auto decide = macho::parse_code_signature(slice, image, macho::Depth::decide);
    require(file.read_bytes() - before <= kMostRead, "reads are bounded");
    require(decide == macho::parse_code_signature(slice, image, macho::Depth::decide),
            "reading again gives the same");
    const auto verify = macho::parse_code_signature(slice, image, macho::Depth::verify);
    tests::require_agreement(decide, verify);
    if (decide) {
        tests::require_inside(*decide, slice.size());
    }
    // Each blob once for each of four directories, and some of it again.
    if (slice.size() - code <= macho::kMostHashed / 32) {
        require(decide == verify, "of small signatures deciding leaves nothing unread");
    }
    if (verify) {
        const macho::CodeDirectory& best = verify->best();
        const auto directory = slice.read(best.offset_in_slice, best.length);
        const std::string whole =
            hex(digest(macho::digest_kind_of(best.hash_type), *directory).view());
        require(best.cdhash == whole.substr(0, 40), "the cdhash is the directory's digest");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = tests::input_bytes(data, size);
    try_signature(bytes);
    try_signature(mended(bytes));
    return 0;
}
