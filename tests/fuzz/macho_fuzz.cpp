// SPDX-License-Identifier: MIT
//
// Any bytes as a Mach-O file: container, images, signatures and page hashes.
#include "fuzz_input.hpp"
#include "macho/facts.hpp"
#include "macho/grading.hpp"
#include "signature_checks.hpp"

#include <algorithm>

namespace {

using namespace metalrun;
using tests::require;

// What deciding may read, as macho/facts.hpp promises it, of files up to that size.
constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20U;
constexpr std::uint64_t kPromisedUpTo = std::uint64_t{64} << 10U;

void require_inside(const macho::FileFacts& facts, std::uint64_t file_size) {
    require(!facts.slices.empty() && facts.slices.size() <= macho::kMostSlices,
            "there are 1 to 16 slices");
    for (const macho::SliceFacts& slice : facts.slices) {
        require(fits(slice.offset, slice.size, file_size), "a slice lies inside the file");
        require(slice.image || !slice.signature, "without an image there is no signature");
        if (slice.image) {
            require(slice.signature.has_value() == slice.image->code_signature.has_value(),
                    "a signature is there exactly if a load command names one");
            require(slice.image->versions.size() <= macho::kMostVersions, "versions are capped");
        }
        if (slice.signature && *slice.signature) {
            tests::require_inside(**slice.signature, slice.size);
        }
    }
}

void require_agreement(const macho::SliceFacts& decide, const macho::SliceFacts& verify) {
    require(decide.offset == verify.offset && decide.size == verify.size &&
                decide.name == verify.name && decide.image == verify.image,
            "the image does not depend on the depth");
    require(decide.signature.has_value() == verify.signature.has_value(),
            "that there is a signature does not depend on the depth");
    if (decide.signature) {
        tests::require_agreement(*decide.signature, *verify.signature);
    }
}

void require_pages(const tests::PaddedFile& file, const macho::SliceFacts& slice) {
    const macho::PageCheck check = macho::check_pages(file, slice);
    std::uint64_t pages = 0;
    if (slice.signature && *slice.signature) {
        for (const macho::CodeDirectory& directory : (*slice.signature)->directories) {
            pages += tests::pages_of(directory);
        }
    }
    require(check.checked == pages, "each page is compared");
    require(check.bad <= check.checked && check.first_bad.has_value() == (check.bad != 0),
            "bad pages are counted");
}

bool is_one_of(const macho::SliceFacts* slice, const macho::FileFacts& file) {
    return slice == nullptr ||
           std::ranges::any_of(file.slices, [&](const auto& one) { return &one == slice; });
}

void require_graded(const macho::FileFacts& file) {
    using enum macho::Grading;
    for (const macho::Grading grading : {before_14_4, since_14_4, since_26}) {
        const macho::SliceFacts* slice = macho::kernel_slice(file, grading);
        require(is_one_of(slice, file), "the slice that runs is one of the file's");
        const auto process = slice != nullptr ? macho::process_of(*slice, grading) : std::nullopt;
        require(!process || is_one_of(macho::library_slice(file, *process, grading), file),
                "the slice that is loaded is one of the file's");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const tests::PaddedFile file(tests::input_bytes(data, size));
    const auto decide = macho::read_facts(file, macho::Depth::decide);
    require(file.read_bytes() <= kMostRead || size > kPromisedUpTo, "deciding reads 1 MiB at most");
    require(decide == macho::read_facts(file, macho::Depth::decide),
            "reading again gives the same");
    const auto verify = macho::read_facts(file, macho::Depth::verify);
    if (!decide || !verify) {
        require(decide == verify, "the container does not depend on the depth");
        return 0;
    }
    require_inside(*decide, size);
    require_graded(*decide);
    require(decide->slices.size() == verify->slices.size(), "slices do not depend on the depth");
    for (std::size_t i = 0; i < decide->slices.size(); ++i) {
        require_agreement(decide->slices[i], verify->slices[i]);
        require_pages(file, decide->slices[i]);
    }
    return 0;
}
