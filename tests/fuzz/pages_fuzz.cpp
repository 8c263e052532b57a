// SPDX-License-Identifier: MIT
//
// Any bytes as a slice: code, and from its own code limit on a signature. The page hashes are
// counted once more here, page by page.
#include "fuzz_input.hpp"
#include "macho/code_directory.hpp"
#include "macho/format.hpp"
#include "macho/image.hpp"
#include "macho/page_hashes.hpp"
#include "signature_checks.hpp"
#include "system/digest.hpp"

#include <string_view>

namespace {

using namespace metalrun;
using tests::require;

// The signature begins where the first code directory's code ends.
std::uint64_t signature_offset(Bytes slice) {
    constexpr std::string_view kMagic = "\xfa\xde\x0c\x02";
    const std::size_t directory = as_text(slice).find(kMagic);
    return directory == std::string_view::npos
               ? 0
               : read_be<std::uint32_t>(slice, directory + 32).value_or(0);
}

macho::PageCheck count_pages(Bytes slice, const macho::CodeSignature& signature) {
    macho::PageCheck check;
    for (const macho::CodeDirectory& directory : signature.directories) {
        const std::uint64_t hash_size = macho::hash_size_of(directory.hash_type);
        const std::uint64_t page_size = directory.page_size_bytes;
        for (std::uint64_t page = 0; page * page_size < directory.code_limit; ++page) {
            const std::uint64_t length =
                std::min(page_size, directory.code_limit - page * page_size);
            const DigestValue value = digest(macho::digest_kind_of(directory.hash_type),
                                             *metalrun::slice(slice, page * page_size, length));
            const auto hash = metalrun::slice(
                slice, directory.offset_in_slice + directory.hash_offset + page * hash_size,
                hash_size);
            ++check.checked;
            if (!std::ranges::equal(*hash, value.view().first(hash_size))) {
                ++check.bad;
                check.first_bad = std::min(check.first_bad.value_or(page), page);
            }
        }
    }
    return check;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = tests::input_bytes(data, size);
    const tests::PaddedFile file(bytes);
    const macho::Source slice(file, 0, size);
    macho::Image image;
    const std::uint64_t offset = std::min<std::uint64_t>(signature_offset(bytes), size);
    image.code_signature = {.offset = offset, .size = size - offset};
    const auto signature = macho::parse_code_signature(slice, image, macho::Depth::decide);
    if (!signature) {
        return 0;
    }
    tests::require_inside(*signature, size);
    require(macho::check_pages(slice, *signature) == count_pages(bytes, *signature),
            "the page hashes that differ are counted");
    return 0;
}
