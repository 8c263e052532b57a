// SPDX-License-Identifier: MIT
#include "macho/facts.hpp"

#include "macho/format.hpp"
#include "report/text.hpp"

#include <utility>

namespace metalrun::macho {

namespace {

// The kernel compares all 32 bits of both (EBADARCH).
std::optional<std::string> header_mismatch(const Image& image, const Slice& slice) {
    if (image.cputype == slice.cputype && image.cpusubtype == slice.cpusubtype) {
        return std::nullopt;
    }
    return text::format("its header says {:#x}, {:#x}, the universal header {:#x}, {:#x}",
                        image.cputype, image.cpusubtype, slice.cputype, slice.cpusubtype);
}

bool is_arm64e(std::uint32_t cputype, std::uint32_t cpusubtype) {
    return cputype == kCpuTypeArm64 && (cpusubtype & ~kCpuSubtypeMask) == kCpuSubtypeArm64e;
}

// dyld's Architecture::operator==: of arm64 all bits count.
bool is_same_processor(const Image& image, const Slice& slice) {
    const std::uint32_t mask = slice.cputype == kCpuTypeArm64 ? 0 : kCpuSubtypeMask;
    return image.cputype == slice.cputype &&
           (image.cpusubtype & ~mask) == (slice.cpusubtype & ~mask);
}

// Objects, debug symbols, archives and what is no Mach-O file may lie anywhere.
std::optional<std::string> dyld_problem_of(const SliceFacts& facts, const Slice& slice) {
    if (!facts.image || !facts.image->is_little_endian || facts.image->filetype == 0) {
        return std::nullopt;
    }
    const Image& image = *facts.image;
    const std::uint64_t page =
        image.cputype == kCpuTypeArm64 || image.cputype == kCpuTypeArm64x32 ? 0x4000 : 0x1000;
    if (image.filetype != kMhObject && image.filetype != kMhDsym && slice.offset % page != 0) {
        return text::format("its {} slice begins at {:#x}, not at a multiple of {:#x}", facts.name,
                            slice.offset, page);
    }
    const bool are_arm64e =
        is_arm64e(image.cputype, image.cpusubtype) && is_arm64e(slice.cputype, slice.cpusubtype);
    if (!is_same_processor(image, slice) && !are_arm64e) {
        return text::format("its {} slice: {}", facts.name,
                            header_mismatch(image, slice).value_or(""));
    }
    return std::nullopt;
}

SliceFacts read_slice(const Source& file, const Slice& slice, Container container, Depth depth) {
    const Source source = container == Container::thin ? file : file.part(slice.offset, slice.size);
    SliceFacts facts{.cputype = slice.cputype,
                     .cpusubtype = slice.cpusubtype,
                     .name = architecture_name(slice.cputype, slice.cpusubtype),
                     .offset = slice.offset,
                     .size = slice.size,
                     .image = parse_image(source),
                     .signature = std::nullopt};
    if (!facts.image) {
        return facts;
    }
    if (container != Container::thin && facts.image->filetype != 0) {
        if (auto problem = header_mismatch(*facts.image, slice)) {
            facts.image->kernel_problem = std::move(*problem);
        }
    }
    if (facts.image->code_signature) {
        facts.signature = parse_code_signature(source, *facts.image, depth);
    }
    return facts;
}

} // namespace

std::expected<FileFacts, Malformed> read_facts(const File& file, Depth depth) {
    const Source source(file, 0, file.status().size_bytes);
    const auto layout = parse_layout(source);
    if (!layout) {
        return std::unexpected(layout.error());
    }
    FileFacts facts{.container = layout->container, .slices = {}, .dyld_problem = std::nullopt};
    if (layout->slices.size() > kMostSlicesOfLibrary) {
        facts.dyld_problem = text::format("it has {} slices, {} at most are taken",
                                          layout->slices.size(), kMostSlicesOfLibrary);
    }
    for (const Slice& slice : layout->slices) {
        facts.slices.push_back(read_slice(source, slice, layout->container, depth));
        if (layout->container != Container::thin && !facts.dyld_problem) {
            facts.dyld_problem = dyld_problem_of(facts.slices.back(), slice);
        }
    }
    return facts;
}

PageCheck check_pages(const File& file, const SliceFacts& slice, unsigned workers) {
    if (!slice.signature || !*slice.signature) {
        return {};
    }
    return check_pages(Source(file, slice.offset, slice.size), **slice.signature, workers);
}

} // namespace metalrun::macho
