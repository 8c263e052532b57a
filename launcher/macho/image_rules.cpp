// SPDX-License-Identifier: MIT
#include "macho/image_rules.hpp"

#include "macho/format.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace metalrun::macho {

namespace {

constexpr std::string_view kSystemDylinker = "/usr/lib/dyld";
constexpr std::string_view kSystemLibraries = "/usr/lib/system/";
constexpr std::uint64_t kPageZero = std::uint64_t{1} << 32U; // 4 GiB
constexpr std::uint32_t kReadAndExecute = kVmProtRead | kVmProtExecute;
constexpr std::uint32_t kAnyProtection = kReadAndExecute | kVmProtWrite;
constexpr std::uint32_t kSdk1015 = 0x000a0f00; // 10.15
constexpr std::uint32_t kSdk13 = 0x000d0000;
constexpr std::uint32_t kSdk1504 = 0x000f0400; // 15.4
constexpr std::uint32_t kLastPlatform = 24;    // dyld mach_o/Platform.cpp: the exclave platforms

// Commands of one size (struct symtab_command and so on).
constexpr std::array<std::pair<std::uint32_t, std::uint64_t>, 16> kFixedSizes{{
    {0x2, 24},               // LC_SYMTAB
    {0xb, 80},               // LC_DYSYMTAB
    {kLcUuid, 24},           //
    {0x1e, 16},              // LC_SEGMENT_SPLIT_INFO
    {kLcEncryptionInfo, 20}, //
    {0x22, 48},              // LC_DYLD_INFO
    {0x22 | kLcReqDyld, 48}, // LC_DYLD_INFO_ONLY
    {kLcVersionMinMacosx, 16},
    {kLcVersionMinIphoneos, 16},
    {0x26, 16},    // LC_FUNCTION_STARTS
    {kLcMain, 24}, //
    {kLcEncryptionInfo64, 24},
    {kLcVersionMinTvos, 16},
    {kLcVersionMinWatchos, 16},
    {0x33 | kLcReqDyld, 16}, // LC_DYLD_EXPORTS_TRIE
    {0x34 | kLcReqDyld, 16}, // LC_DYLD_CHAINED_FIXUPS
}};

// Without what has a fixed size. Function variants are known since dyld 1284 only, whose rule this
// is; LC_FILESET_ENTRY does not occur in libraries.
constexpr std::array kOtherRequired{
    kLcLoadWeakDylib,   kLcRpath,           kLcReexportDylib,   kLcLoadUpwardDylib,
    0x35U | kLcReqDyld, 0x37U | kLcReqDyld, 0x38U | kLcReqDyld,
};

const Segment* find_segment(const Shape& shape, std::string_view name) {
    const auto found = std::ranges::find(shape.segments, name, &Segment::name);
    return found == shape.segments.end() ? nullptr : &*found;
}

// --- kernel -------------------------------------------------------------------------------------

// It is below the program, not mapped from the file and not accessible.
bool is_page_zero(const Segment& segment) {
    return segment.address == 0 && segment.file_size == 0 && segment.size >= kPageZero &&
           (segment.protection & kAnyProtection) == 0 &&
           (segment.most_protection & kAnyProtection) == 0;
}

std::optional<std::string> segment_refusal(const Image& image, const Shape& shape) {
    if ((image.is_64_bit ? shape.narrow_segments : shape.wide_segments) != 0) {
        return "it has a segment command of the other word size";
    }
    if (!image.segments_file_aligned) {
        return "a segment does not begin at a multiple of 16 KiB in the file";
    }
    const auto maps_header = [](const Segment& segment) {
        return segment.file_offset == 0 && segment.file_size != 0;
    };
    const auto headers = std::ranges::count_if(shape.segments, maps_header);
    if (headers != 1) {
        return text::format("{} segments map the begin of the file, one was expected", headers);
    }
    const Segment& header = *std::ranges::find_if(shape.segments, maps_header);
    if ((header.protection & kReadAndExecute) != kReadAndExecute) {
        return text::format(
            "its segment {} at the begin of the file is not readable and executable",
            text::quote(header.name));
    }
    if (std::ranges::none_of(shape.segments, is_page_zero)) {
        return "no segment keeps the first 4 GiB of memory free (__PAGEZERO)";
    }
    return std::nullopt;
}

// --- dyld ---------------------------------------------------------------------------------------

// Before 15.4 dyld looked only at libraries that were built with an SDK of 13.0 or later, and had
// not all the rules.
DyldProblem since_15_4(std::string message) {
    return {.message = std::move(message), .before_15_4 = false};
}

DyldProblem always(const Shape& shape, std::string message) {
    return {.message = std::move(message), .before_15_4 = shape.macos_sdk >= kSdk13};
}

std::optional<DyldProblem> command_refusal(const Image& image, const Shape& shape) {
    if (image.has_unterminated_strings) {
        return always(shape, "a path runs to the end of its load command");
    }
    if (shape.unknown_required_command) {
        return since_15_4(text::format("dyld must know its load command {:#x}, but does not",
                                       *shape.unknown_required_command));
    }
    if (shape.size_problem) {
        return since_15_4(*shape.size_problem);
    }
    const auto unknown = std::ranges::find_if(image.versions, [](const BuildVersion& version) {
        return version.platform == 0 || version.platform > kLastPlatform;
    });
    // Without any, dyld takes it for macOS, as Go's linker needs it.
    if (unknown != image.versions.end()) {
        return since_15_4(text::format("it is built for the unknown {}", unknown->platform_name));
    }
    if (shape.uuids > 1) {
        return since_15_4(text::format("it has {} LC_UUID, at most one was expected", shape.uuids));
    }
    return std::nullopt;
}

std::optional<DyldProblem> library_refusal(const Image& image, const Shape& shape) {
    if (shape.install_names == 0) {
        return always(shape, "it has no install name (LC_ID_DYLIB)");
    }
    if (shape.install_names > 1) {
        return since_15_4(
            text::format("it has {} install names, one was expected", shape.install_names));
    }
    // Before 15.4 this held for SDKs of 13.0 and later, which is more than it is now.
    if (shape.links == 0 && shape.macos_sdk >= kSdk1504 &&
        !image.install_name.starts_with(kSystemLibraries)) {
        return always(shape, "it links with no library, not even libSystem");
    }
    return std::nullopt;
}

std::optional<DyldProblem> refusal_of_segment(const Segment& segment, const Shape& shape) {
    const std::string name = text::quote(segment.name);
    if (segment.file_size > segment.size) {
        const std::string message =
            text::format("segment {} has {:#x} bytes in the file, {:#x} in memory", name,
                         segment.file_size, segment.size);
        if (segment.size != 0) {
            return always(shape, message);
        }
        // Not mapped at all, as __LLVM and Go's __DWARF.
        return segment.protection == 0 ? std::nullopt : std::optional(since_15_4(message));
    }
    if ((segment.protection & ~kAnyProtection) != 0) {
        return always(shape, text::format("segment {} has the unknown protection {:#x}", name,
                                          segment.protection));
    }
    if (segment.name == "__TEXT" && segment.protection != kReadAndExecute &&
        shape.macos_sdk >= kSdk1015) {
        return always(shape, "segment '__TEXT' is not readable and executable only");
    }
    if (segment.address + segment.size < segment.address) {
        return always(shape, text::format("segment {} at {:#x} with {:#x} bytes leaves the memory",
                                          name, segment.address, segment.size));
    }
    return std::nullopt;
}

std::optional<DyldProblem> text_refusal(const Shape& shape) {
    const Segment* text = find_segment(shape, "__TEXT");
    if (text == nullptr) {
        return always(shape, "it has no segment '__TEXT'");
    }
    if (text->file_offset != 0) {
        return always(shape,
                      text::format("its segment '__TEXT' begins at {:#x} of the file, not at "
                                   "its begin",
                                   text->file_offset));
    }
    if (text->file_size < shape.header_and_commands) {
        return always(shape,
                      text::format("its segment '__TEXT' of {:#x} bytes does not hold the {:#x} "
                                   "bytes of header and load commands",
                                   text->file_size, shape.header_and_commands));
    }
    return std::nullopt;
}

struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    const Segment* segment;
};

// Two ranges with a byte in common. An empty range within another one is not told: dyld before
// 15.4 allows it, and so does this.
std::optional<std::pair<const Segment*, const Segment*>> overlapping(std::vector<Range> ranges) {
    std::erase_if(ranges, [](const Range& range) { return range.begin == range.end; });
    std::ranges::sort(ranges, {}, &Range::begin);
    const auto found = std::ranges::adjacent_find(
        ranges, [](const Range& one, const Range& next) { return next.begin < one.end; });
    if (found == ranges.end()) {
        return std::nullopt;
    }
    return std::pair{found->segment, std::next(found)->segment};
}

std::optional<DyldProblem> overlap_refusal(const Shape& shape) {
    std::vector<Range> memory;
    std::vector<Range> file;
    for (const Segment& one : shape.segments) {
        // Neither sum wraps: refusal_of_segment and the parser looked.
        memory.push_back({one.address, one.address + one.size, &one});
        file.push_back({one.file_offset, one.file_offset + one.file_size, &one});
    }
    for (const auto& [ranges, place] : {std::pair{memory, "memory"}, std::pair{file, "the file"}}) {
        if (const auto pair = overlapping(ranges)) {
            return always(shape, text::format("its segments {} and {} overlap in {}",
                                              text::quote(pair->first->name),
                                              text::quote(pair->second->name), place));
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::uint64_t> fixed_size_of(std::uint32_t command) {
    const auto found =
        std::ranges::find(kFixedSizes, command, &decltype(kFixedSizes)::value_type::first);
    return found == kFixedSizes.end() ? std::nullopt : std::optional(found->second);
}

bool is_known_required(std::uint32_t command) {
    return fixed_size_of(command) || std::ranges::count(kOtherRequired, command) != 0;
}

std::optional<std::string> kernel_problem_of(const Image& image, const Shape& shape) {
    if (image.cputype != kCpuTypeArm64 || !image.is_executable()) {
        return std::nullopt;
    }
    if (!image.is_dyldlinked) {
        return "it is not linked for dyld (MH_DYLDLINK is not set)";
    }
    if (shape.dylinkers != 1) {
        return text::format("it names {} dynamic linkers, one was expected", shape.dylinkers);
    }
    if (!shape.dylinker_has_end) {
        return "the path of its dynamic linker runs to the end of its load command";
    }
    if (image.dylinker != kSystemDylinker) {
        return text::format("its dynamic linker is {}, not '/usr/lib/dyld'",
                            text::quote(image.dylinker));
    }
    if (!image.is_pie) {
        return "it is not position-independent (MH_PIE is not set)";
    }
    if (!image.has_entry_point) {
        return "it has no entry point (neither LC_MAIN nor LC_UNIXTHREAD)";
    }
    if (shape.entry_points > 1) {
        return text::format("it has {} entry points, one was expected", shape.entry_points);
    }
    if (image.version_commands > 1) {
        return text::format("it has {} version commands, at most one was expected",
                            image.version_commands);
    }
    return segment_refusal(image, shape);
}

std::optional<DyldProblem> dyld_problem_of(const Image& image, const Shape& shape) {
    if (!image.is_library()) {
        return std::nullopt;
    }
    if (auto problem = command_refusal(image, shape)) {
        return problem;
    }
    if (auto problem = library_refusal(image, shape)) {
        return problem;
    }
    for (const Segment& segment : shape.segments) {
        if (auto problem = refusal_of_segment(segment, shape)) {
            return problem;
        }
    }
    if (shape.section_problem) {
        return always(shape, *shape.section_problem);
    }
    if (auto problem = text_refusal(shape)) {
        return problem;
    }
    return overlap_refusal(shape);
}

} // namespace metalrun::macho
