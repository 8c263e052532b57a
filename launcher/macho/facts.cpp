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
    FileFacts facts{.container = layout->container, .slices = {}};
    for (const Slice& slice : layout->slices) {
        facts.slices.push_back(read_slice(source, slice, layout->container, depth));
    }
    return facts;
}

PageCheck check_pages(const File& file, const SliceFacts& slice) {
    if (!slice.signature || !*slice.signature) {
        return {};
    }
    return check_pages(Source(file, slice.offset, slice.size), **slice.signature);
}

} // namespace metalrun::macho
