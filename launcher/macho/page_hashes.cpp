// SPDX-License-Identifier: MIT
#include "macho/page_hashes.hpp"

#include "macho/code_directory.hpp"
#include "system/digest.hpp"

#include <algorithm>
#include <vector>

namespace metalrun::macho {

namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;

void count_bad(PageCheck& check, std::uint64_t page) {
    ++check.bad;
    check.first_bad = std::min(check.first_bad.value_or(page), page);
}

// The last page ends at the code limit; it is not padded.
void check_directory(const Source& slice, const CodeDirectory& directory, PageCheck& check) {
    const std::uint64_t page_size = directory.page_size_bytes;
    const std::uint64_t hash_size = hash_size_of(directory.hash_type);
    const std::uint64_t pages_at_once = kPiece / page_size;
    const std::uint64_t hashes = directory.offset_in_slice + directory.hash_offset;
    std::vector<std::byte> code(static_cast<std::size_t>(std::min(kPiece, directory.code_limit)));
    std::vector<std::byte> expected(static_cast<std::size_t>(
        std::min<std::uint64_t>(pages_at_once, directory.code_slots) * hash_size));
    Digest digest(digest_kind_of(directory.hash_type));
    for (std::uint64_t first = 0; first < directory.code_slots; first += pages_at_once) {
        const std::uint64_t count = std::min(pages_at_once, directory.code_slots - first);
        const std::uint64_t begin = first * page_size;
        const std::span<std::byte> piece = std::span(code).first(
            static_cast<std::size_t>(std::min(count * page_size, directory.code_limit - begin)));
        const std::span<std::byte> slots =
            std::span(expected).first(static_cast<std::size_t>(count * hash_size));
        const bool is_read =
            slice.read_into(begin, piece) && slice.read_into(hashes + first * hash_size, slots);
        for (std::uint64_t i = 0; i < count; ++i) {
            ++check.checked;
            const std::uint64_t at = i * page_size;
            digest.update(Bytes(piece).subspan(
                static_cast<std::size_t>(at),
                static_cast<std::size_t>(std::min<std::uint64_t>(page_size, piece.size() - at))));
            const DigestValue value = digest.finish();
            const Bytes slot = Bytes(slots).subspan(static_cast<std::size_t>(i * hash_size),
                                                    static_cast<std::size_t>(hash_size));
            if (!is_read || !std::ranges::equal(slot, value.view().first(slot.size()))) {
                count_bad(check, first + i);
            }
        }
    }
}

} // namespace

PageCheck check_pages(const Source& slice, const CodeSignature& signature) {
    PageCheck check;
    for (const CodeDirectory& directory : signature.directories) {
        check_directory(slice, directory, check);
    }
    return check;
}

} // namespace metalrun::macho
