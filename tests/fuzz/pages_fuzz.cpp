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

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

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

// By page: the number of its hash, if it has one. A part of scattered pages has a page more than it
// says, unless that is the next part's; a part that is not behind the one before ends them all.
std::vector<std::optional<std::uint64_t>> hash_numbers(const macho::CodeDirectory& directory) {
    std::vector<std::optional<std::uint64_t>> numbers(tests::pages_of(directory));
    if (!directory.is_scattered) {
        for (std::uint64_t page = 0; page < numbers.size(); ++page) {
            numbers[page] = page;
        }
    }
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < directory.scatter.size(); ++i) {
        const std::uint64_t first = directory.scatter[i].first_page;
        const std::uint64_t last = first + directory.scatter[i].pages;
        if (i != 0 && first <= directory.scatter[i - 1].first_page) {
            break;
        }
        for (std::uint64_t page = first; page <= last && page < numbers.size(); ++page) {
            numbers[page] = numbers[page].value_or(before + page - first);
        }
        before += directory.scatter[i].pages;
    }
    return numbers;
}

bool is_good(Bytes slice, const macho::CodeDirectory& directory, std::uint64_t page,
             std::optional<std::uint64_t> number) {
    const std::uint64_t hash_size = macho::hash_size_of(directory.hash_type);
    const std::uint64_t begin = page * directory.page_size_bytes;
    const std::uint64_t length = std::min(directory.page_size_bytes, directory.code_limit - begin);
    const DigestValue value =
        digest(macho::digest_kind_of(directory.hash_type), *metalrun::slice(slice, begin, length));
    const auto whole = metalrun::slice(slice, directory.offset_in_slice, directory.length);
    const auto hash =
        number ? metalrun::slice(*whole, directory.hash_offset + *number * hash_size, hash_size)
               : std::nullopt;
    return hash && std::ranges::equal(*hash, value.view().first(hash_size));
}

macho::PageCheck count_pages(Bytes slice, const macho::CodeSignature& signature) {
    macho::PageCheck check;
    for (const macho::CodeDirectory& directory : signature.directories) {
        const auto numbers = hash_numbers(directory);
        for (std::uint64_t page = 0; page < numbers.size(); ++page) {
            ++check.checked;
            if (!is_good(slice, directory, page, numbers[page])) {
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
