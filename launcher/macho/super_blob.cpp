// SPDX-License-Identifier: MIT
#include "macho/super_blob.hpp"

#include "macho/code_signature.hpp"
#include "macho/format.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <utility>

namespace metalrun::macho {

namespace {

constexpr std::uint64_t kSuperBlobSize = 12;
constexpr std::uint64_t kIndexEntrySize = 8;

// The magic number of slots that the kernel looks into; 0: of no others.
std::uint32_t strict_magic_of(std::uint32_t slot) {
    return is_constraint_slot(slot)       ? kMagicLaunchConstraint
           : slot == kSlotEntitlements    ? kMagicEntitlements
           : slot == kSlotDerEntitlements ? kMagicDerEntitlements
           : is_directory_slot(slot)      ? kMagicCodeDirectory
                                          : 0;
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

} // namespace

bool is_directory_slot(std::uint32_t slot) {
    return slot == kSlotCodeDirectory ||
           (slot >= kSlotAlternateCodeDirectories &&
            slot < kSlotAlternateCodeDirectories + kMostAlternateCodeDirectories);
}

bool is_constraint_slot(std::uint32_t slot) {
    return slot >= kSlotLaunchConstraintSelf && slot <= kSlotLibraryConstraint;
}

std::expected<Blobs, Malformed> read_blobs(const Source& area) {
    const auto outer = read_blob(area, kSlotCodeDirectory, 0);
    if (!outer) {
        return std::unexpected(outer.error());
    }
    Blobs found{.area = area.part(0, outer->length), .blobs = {}, .overlap = false};
    if (outer->magic == kMagicCodeDirectory) {
        found.blobs = {*outer};
        return found;
    }
    if (outer->magic != kMagicEmbeddedSignature || outer->length < kSuperBlobSize) {
        return malformed(text::format("the signature begins with {:#x} and has {} bytes; a super "
                                      "blob was expected",
                                      outer->magic, outer->length));
    }
    const auto count = read_be<std::uint32_t>(found.area.first(), 8).value_or(0);
    auto blobs = read_index(found.area, count);
    if (!blobs) {
        return std::unexpected(blobs.error());
    }
    found.blobs = std::move(*blobs);
    found.overlap = overlap(found.blobs);
    return found;
}

} // namespace metalrun::macho
