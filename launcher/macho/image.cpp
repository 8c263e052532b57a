// SPDX-License-Identifier: MIT
#include "macho/image.hpp"

#include "macho/format.hpp"
#include "macho/image_names.hpp"
#include "macho/image_rules.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace metalrun::macho {

namespace {

constexpr std::uint64_t kHeaderSize = 28;
constexpr std::uint64_t kHeader64Size = 32;
constexpr std::uint64_t kLoadCommandSize = 8;
constexpr std::uint64_t kNameSize = 16;
constexpr std::uint64_t kFilePage = 0x4000; // of Apple silicon's kernel
constexpr std::uint64_t kLongestMarker = 256;
constexpr std::string_view kArchiveMagic = "!<arch>\n";

using Step = std::expected<void, Malformed>;

// Integers of a header or command in the image's byte order; 0 beyond the end, which the sizes of
// the commands were checked against before.
class Fields {
public:
    Fields(Bytes bytes, bool is_little_endian) : bytes_(bytes), is_little_(is_little_endian) {}

    [[nodiscard]] Bytes bytes() const { return bytes_; }
    [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const {
        return integer<std::uint32_t>(offset);
    }
    [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const {
        return integer<std::uint64_t>(offset);
    }
    // A field of 16 bytes that a NUL ends, unless it is full.
    [[nodiscard]] std::string_view name(std::uint64_t offset) const {
        const auto field = slice(bytes_, offset, kNameSize);
        const std::string_view text = field ? as_text(*field) : std::string_view{};
        return text.substr(0, text.find('\0'));
    }

private:
    template <class T> [[nodiscard]] T integer(std::uint64_t offset) const {
        return (is_little_ ? read_le<T>(bytes_, offset) : read_be<T>(bytes_, offset)).value_or(0);
    }

    Bytes bytes_;
    bool is_little_;
};

// Where the fields of a segment command and its sections lie (struct segment_command, section).
struct SegmentShape {
    std::uint64_t size;
    std::uint64_t memory_size;
    std::uint64_t file_offset;
    std::uint64_t file_size;
    std::uint64_t protections; // maxprot, initprot, then the number of sections
    std::uint64_t section_size;
    std::uint64_t in_section_size;
    std::uint64_t in_section_offset;
};
constexpr SegmentShape kSegment32{56, 28, 32, 36, 40, 68, 36, 40};
constexpr SegmentShape kSegment64{72, 32, 40, 48, 56, 80, 40, 48};
constexpr std::uint64_t kAddress = 24;          // of a segment, in both
constexpr std::uint64_t kInSectionAddress = 32; // in both

// One walk over the load commands. Each command is checked to be as long as its fixed part before
// its fields are looked at.
class Parser {
public:
    Parser(const Source& source, Image image) : source_(source), image_(std::move(image)) {}

    std::expected<Image, Malformed> parse(std::uint64_t header_size, std::uint32_t count,
                                          std::uint64_t size) {
        const auto commands = source_.read(header_size, size);
        if (!commands) {
            return malformed(
                text::format("the load commands at {:#x} cannot be read", header_size));
        }
        shape_.header_and_commands = header_size + size;
        std::uint64_t at = 0;
        for (std::uint32_t number = 0; number < count; ++number) {
            number_ = number;
            const Fields head(Bytes(*commands).subspan(static_cast<std::size_t>(at)),
                              image_.is_little_endian);
            const std::uint64_t length = head.u32(4);
            if (!fits(at, kLoadCommandSize, size) || !fits(at, length, size)) {
                return malformed(
                    text::format("load command {} of {} ends beyond the load commands' {:#x} bytes",
                                 number, count, size));
            }
            if (length < kLoadCommandSize || length % 4 != 0) {
                return malformed(
                    text::format("load command {} has a size of {} bytes", number, length));
            }
            const Fields command(head.bytes().first(static_cast<std::size_t>(length)),
                                 image_.is_little_endian);
            note_size(command.u32(0), command);
            if (Step step = take(command.u32(0), command); !step) {
                return std::unexpected(std::move(step.error()));
            }
            at += length;
        }
        image_.kernel_problem = kernel_problem_of(image_, shape_);
        image_.dyld_problem = dyld_problem_of(image_, shape_);
        return std::move(image_);
    }

private:
    Step take(std::uint32_t number, const Fields& command) {
        switch (number) {
        case kLcSegment:
            ++shape_.narrow_segments;
            return segment(command, kSegment32, "LC_SEGMENT");
        case kLcSegment64:
            ++shape_.wide_segments;
            return segment(command, kSegment64, "LC_SEGMENT_64");
        case kLcLoadDylib:
        case kLcReexportDylib:
        case kLcLazyLoadDylib:
        case kLcLoadUpwardDylib:
        case kLcLoadWeakDylib:
            shape_.links += number == kLcLazyLoadDylib ? 0 : 1;
            return dependency(command, number == kLcLoadWeakDylib);
        case kLcIdDylib:
            ++shape_.install_names;
            return path(command, 24, "LC_ID_DYLIB", image_.install_name);
        case kLcRpath:
            return path(command, 12, "LC_RPATH", image_.rpaths.emplace_back());
        case kLcLoadDylinker:
            return dylinker(command);
        case kLcMain:
        case kLcUnixthread:
            ++shape_.entry_points;
            image_.has_entry_point = true;
            return number == kLcMain ? at_least(command, 24, "LC_MAIN")
                                     : at_least(command, 16, "LC_UNIXTHREAD");
        case kLcUuid:
            ++shape_.uuids;
            return at_least(command, 24, "LC_UUID");
        case kLcCodeSignature:
            return code_signature(command);
        default:
            return take_small(number, command);
        }
    }

    Step take_small(std::uint32_t number, const Fields& command) {
        switch (number) {
        case kLcBuildVersion:
            return version(command, 24, command.u32(8), 12);
        case kLcVersionMinMacosx:
        case kLcVersionMinIphoneos:
        case kLcVersionMinTvos:
        case kLcVersionMinWatchos:
            return version(command, 16, platform_of_version_min(number), 8);
        case kLcEncryptionInfo:
        case kLcEncryptionInfo64:
            if (image_.cryptid == 0) {
                image_.cryptid = command.u32(16);
            }
            return at_least(command, 20, "LC_ENCRYPTION_INFO");
        default:
            if ((number & kLcReqDyld) != 0 && !is_known_required(number)) {
                shape_.unknown_required_command = number;
            }
            return {};
        }
    }

    [[nodiscard]] Step at_least(const Fields& command, std::uint64_t size,
                                std::string_view name) const {
        if (command.bytes().size() < size) {
            return malformed(text::format("load command {} ({}) has {} bytes, at least {} were "
                                          "expected",
                                          number_, name, command.bytes().size(), size));
        }
        return {};
    }

    void note_size(std::uint32_t number, const Fields& command) {
        const std::uint64_t size = command.bytes().size();
        std::optional<std::uint64_t> wanted = fixed_size_of(number);
        if (number == kLcBuildVersion) {
            wanted = 24 + std::uint64_t{command.u32(20)} * 8;
        }
        if (wanted && size != *wanted && !shape_.size_problem) {
            shape_.size_problem =
                text::format("load command {} ({:#x}) has {} bytes, {} were expected", number_,
                             number, size, *wanted);
        }
    }

    Step segment(const Fields& command, const SegmentShape& shape, std::string_view name) {
        if (Step step = at_least(command, shape.size, name); !step) {
            return step;
        }
        const bool is_wide = shape.size == kSegment64.size;
        const auto word = [&](std::uint64_t at) {
            return is_wide ? command.u64(at) : std::uint64_t{command.u32(at)};
        };
        Segment& one = shape_.segments.emplace_back();
        one = {.name = std::string(command.name(8)),
               .address = word(kAddress),
               .size = word(shape.memory_size),
               .file_offset = word(shape.file_offset),
               .file_size = word(shape.file_size),
               .most_protection = command.u32(shape.protections),
               .protection = command.u32(shape.protections + 4)};
        if (!fits(one.file_offset, one.file_size, source_.size())) {
            return malformed(text::format(
                "load command {} ({} {}) covers {:#x} bytes at offset {:#x}, beyond the end of the "
                "slice at {:#x}",
                number_, name, text::quote(one.name), one.file_size, one.file_offset,
                source_.size()));
        }
        if (one.file_size != 0 && (source_.offset_in_file() + one.file_offset) % kFilePage != 0) {
            image_.segments_file_aligned = false;
        }
        const std::uint64_t sections = command.u32(shape.protections + 8);
        const std::uint64_t whole = shape.size + sections * shape.section_size;
        if (whole > command.bytes().size()) {
            return malformed(text::format("load command {} ({} {}) names {} sections, but has only "
                                          "{} bytes",
                                          number_, name, text::quote(one.name), sections,
                                          command.bytes().size()));
        }
        if (whole != command.bytes().size() && !shape_.size_problem) {
            shape_.size_problem =
                text::format("load command {} ({} {}) has {} bytes, {} were expected", number_,
                             name, text::quote(one.name), command.bytes().size(), whole);
        }
        for (std::uint64_t at = shape.size; at < whole; at += shape.section_size) {
            section(Fields(command.bytes().subspan(static_cast<std::size_t>(at)),
                           image_.is_little_endian),
                    shape, one);
        }
        return {};
    }

    void section(const Fields& section, const SegmentShape& shape, const Segment& in) {
        const bool is_wide = shape.size == kSegment64.size;
        const auto word = [&](std::uint64_t at) {
            return is_wide ? section.u64(at) : std::uint64_t{section.u32(at)};
        };
        const std::string_view own_segment = section.name(kNameSize);
        const std::string_view segment = own_segment.empty() ? in.name : own_segment;
        const std::string_view name = section.name(0);
        const std::uint64_t size = word(shape.in_section_size);
        if (segment == "__RESTRICT" && name == "__restrict") {
            image_.has_restrict_section = true;
        }
        if (segment == "__TEXT" && name == "__metalrun" && !std::exchange(has_marker_, true)) {
            const auto bytes =
                source_.read(section.u32(shape.in_section_offset), std::min(size, kLongestMarker));
            const std::string_view text = bytes ? as_text(*bytes) : std::string_view{};
            image_.marker = text.substr(0, text.find('\0'));
        }
        constexpr std::uint64_t kLargest = ~std::uint64_t{0} >> 1U;
        if ((size > kLargest || word(kInSectionAddress) < in.address) && !shape_.section_problem) {
            shape_.section_problem = text::format(
                "section {} at {:#x} with {:#x} bytes lies outside its segment {} at "
                "{:#x}",
                text::quote(name), word(kInSectionAddress), size, text::quote(in.name), in.address);
        }
    }

    // The string that a command's lc_str at offset 8 points to. Without a NUL it ends with its
    // command, as dyld reads it.
    Step path(const Fields& command, std::uint64_t fixed_size, std::string_view name,
              std::string& into) {
        if (Step step = at_least(command, fixed_size, name); !step) {
            return step;
        }
        const std::uint64_t offset = command.u32(8);
        if (offset < fixed_size || offset >= command.bytes().size()) {
            return malformed(text::format("load command {} ({}) has its text at offset {}, outside "
                                          "its {} bytes",
                                          number_, name, offset, command.bytes().size()));
        }
        const std::string_view rest = as_text(command.bytes()).substr(offset);
        const std::size_t end = rest.find('\0');
        image_.has_unterminated_strings |= end == std::string_view::npos;
        into = rest.substr(0, end);
        return {};
    }

    Step dependency(const Fields& command, bool is_weak) {
        Dependency& one = image_.dependencies.emplace_back();
        one.weak = is_weak;
        return path(command, 24, "LC_LOAD_DYLIB", one.path);
    }

    Step dylinker(const Fields& command) {
        ++shape_.dylinkers;
        if (Step step = path(command, 12, "LC_LOAD_DYLINKER", image_.dylinker); !step) {
            return step;
        }
        shape_.dylinker_has_end = command.u32(8) + image_.dylinker.size() < command.bytes().size();
        return {};
    }

    Step version(const Fields& command, std::uint64_t size, std::uint32_t platform,
                 std::uint64_t minos_at) {
        if (Step step = at_least(command, size, "version"); !step) {
            return step;
        }
        ++image_.version_commands;
        if (platform == kPlatformMacos) {
            shape_.macos_sdk = std::max(shape_.macos_sdk, command.u32(minos_at + 4));
        }
        if (image_.versions.size() < kMostVersions) {
            image_.versions.push_back({.platform = platform,
                                       .platform_name = platform_name(platform),
                                       .minos = version_text(command.u32(minos_at)),
                                       .sdk = version_text(command.u32(minos_at + 4))});
        }
        return {};
    }

    Step code_signature(const Fields& command) {
        constexpr std::size_t kSize = 16;
        if (command.bytes().size() != kSize) {
            return malformed(text::format("load command {} (LC_CODE_SIGNATURE) has {} bytes, {} "
                                          "were expected",
                                          number_, command.bytes().size(), kSize));
        }
        if (image_.code_signature) {
            return malformed(
                text::format("load command {} is a second LC_CODE_SIGNATURE", number_));
        }
        image_.code_signature = {.offset = command.u32(8), .size = command.u32(12)};
        return {};
    }

    const Source& source_;
    Image image_;
    std::uint32_t number_ = 0;
    Shape shape_;
    bool has_marker_ = false;
};

} // namespace

bool Image::is_executable() const {
    return filetype == kMhExecute;
}

bool Image::is_library() const {
    return filetype == kMhDylib;
}

std::expected<Image, Malformed> parse_image(const Source& source) {
    if (as_text(source.first()).starts_with(kArchiveMagic)) {
        return Image{.filetype_name = "archive"};
    }
    const auto magic = read_le<std::uint32_t>(source.first(), 0).value_or(0);
    const bool is_little = magic == kMhMagic || magic == kMhMagic64;
    const auto swapped = read_be<std::uint32_t>(source.first(), 0).value_or(0);
    if (!is_little && swapped != kMhMagic && swapped != kMhMagic64) {
        return malformed(
            text::format("the slice begins with {:#x}, not with a Mach-O header", swapped));
    }
    const bool is_64_bit = (is_little ? magic : swapped) == kMhMagic64;
    const std::uint64_t header_size = is_64_bit ? kHeader64Size : kHeaderSize;
    if (source.first().size() < header_size) {
        return malformed(text::format("a Mach-O header of {} bytes was expected, the slice has {}",
                                      header_size, source.size()));
    }
    const Fields header(source.first(), is_little);
    Image image{.cputype = header.u32(4),
                .cpusubtype = header.u32(8),
                .is_64_bit = is_64_bit,
                .is_little_endian = is_little,
                .filetype = header.u32(12),
                .filetype_name = filetype_name(header.u32(12)),
                .flags = header.u32(24)};
    image.is_pie = (image.flags & kMhPie) != 0;
    image.is_dyldlinked = (image.flags & kMhDyldlink) != 0;
    const std::uint64_t size = header.u32(20);
    if (!fits(header_size, size, source.size())) {
        return malformed(
            text::format("the load commands take {:#x} bytes behind the header, beyond "
                         "the end of the slice at {:#x}",
                         size, source.size()));
    }
    if (size > kLargestCommands) {
        return malformed(text::format("the load commands take {:#x} bytes, at most {:#x} are "
                                      "believed",
                                      size, kLargestCommands));
    }
    return Parser(source, std::move(image)).parse(header_size, header.u32(16), size);
}

} // namespace metalrun::macho
