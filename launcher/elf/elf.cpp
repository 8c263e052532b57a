// SPDX-License-Identifier: MIT
#include "elf/elf.hpp"

#include "macho/bytes.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::elf {

namespace {

// elf(5): the numbers used here.
constexpr std::string_view kMagic{"\x7f"
                                  "ELF"};
constexpr std::uint64_t kHeaderSize = 64;
constexpr std::uint16_t kProgramHeaderSize = 56;
constexpr std::uint16_t kMostProgramHeaders = 512;
constexpr std::uint32_t kPtLoad = 1;
constexpr std::uint32_t kPtDynamic = 2;
constexpr std::uint32_t kPtInterp = 3;
constexpr std::uint32_t kPtNote = 4;
constexpr std::uint64_t kDtNull = 0;
constexpr std::uint64_t kDtNeeded = 1;
constexpr std::uint64_t kDtStrtab = 5;
constexpr std::uint64_t kDtStrsz = 10;
// Caps on what a file may make us read: far above any real program.
constexpr std::uint64_t kLargestInterpreter = 4096;
constexpr std::uint64_t kLargestDynamic = 1U << 16;
constexpr std::uint64_t kLargestStrings = 1U << 22;
constexpr std::uint64_t kLargestNotes = 1U << 14; // all together
constexpr std::string_view kNoteOwner{"metalrun\0", 9};

// Reads from the file, the first page only once: nearly all that is asked for lies there.
class Reader {
public:
    explicit Reader(const File& file) : file_(file) {
        first_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size(), kFirstBytes)));
        const auto got = file_.read_at(0, first_);
        first_.resize(got ? *got : 0);
    }

    [[nodiscard]] std::uint64_t size() const { return file_.status().size_bytes; }
    [[nodiscard]] Bytes first() const { return first_; }

    // All `length` bytes at `offset`, or nothing.
    [[nodiscard]] std::optional<std::vector<std::byte>> read(std::uint64_t offset,
                                                             std::uint64_t length) const {
        if (const auto part = slice(first_, offset, length)) {
            return std::vector<std::byte>(part->begin(), part->end());
        }
        if (!fits(offset, length, size())) {
            return std::nullopt;
        }
        std::vector<std::byte> bytes(static_cast<std::size_t>(length));
        const auto got = file_.read_at(offset, bytes);
        if (!got || *got != bytes.size()) {
            return std::nullopt;
        }
        return bytes;
    }

private:
    static constexpr std::uint64_t kFirstBytes = 4096;
    const File& file_;
    std::vector<std::byte> first_;
};

struct Segment {
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t file_size = 0;
};

std::unexpected<Malformed> malformed(std::string message) {
    return std::unexpected(Malformed{.message = std::move(message)});
}

template <class T> T le(Bytes bytes, std::uint64_t offset) {
    return read_le<T>(bytes, offset).value_or(0);
}

std::expected<std::vector<Segment>, Malformed> read_segments(const Reader& reader, Bytes header) {
    const auto offset = le<std::uint64_t>(header, 32);
    const auto entry_size = le<std::uint16_t>(header, 54);
    const auto count = le<std::uint16_t>(header, 56);
    if (count != 0 && entry_size != kProgramHeaderSize) {
        return malformed(text::format("program headers of {} bytes each, expected {}", entry_size,
                                      kProgramHeaderSize));
    }
    if (count > kMostProgramHeaders) {
        return malformed(text::format("{} program headers, at most {} are believed", count,
                                      kMostProgramHeaders));
    }
    const std::uint64_t length = std::uint64_t{count} * kProgramHeaderSize;
    const auto table = reader.read(offset, length);
    if (!table) {
        return malformed(
            text::format("{} program headers at offset {:#x} lie beyond the end of the "
                         "file at {:#x}",
                         count, offset, reader.size()));
    }
    std::vector<Segment> segments;
    for (std::uint64_t at = 0; at < length; at += kProgramHeaderSize) {
        const Segment segment{.type = le<std::uint32_t>(*table, at),
                              .offset = le<std::uint64_t>(*table, at + 8),
                              .address = le<std::uint64_t>(*table, at + 16),
                              .file_size = le<std::uint64_t>(*table, at + 32)};
        const bool matters = segment.type == kPtLoad || segment.type == kPtInterp;
        if (matters && !fits(segment.offset, segment.file_size, reader.size())) {
            return malformed(text::format(
                "program header {} covers {:#x} bytes at offset {:#x}, beyond the end of the file "
                "at {:#x}",
                at / kProgramHeaderSize, segment.file_size, segment.offset, reader.size()));
        }
        segments.push_back(segment);
    }
    return segments;
}

std::optional<std::uint64_t> offset_of(const std::vector<Segment>& segments,
                                       std::uint64_t address) {
    for (const Segment& segment : segments) {
        if (segment.type == kPtLoad && address >= segment.address &&
            address - segment.address < segment.file_size) {
            return segment.offset + (address - segment.address);
        }
    }
    return std::nullopt;
}

std::expected<std::string, Malformed> read_interpreter(const Reader& reader,
                                                       const Segment& segment) {
    if (segment.file_size < 2 || segment.file_size > kLargestInterpreter) {
        return malformed(text::format("the interpreter's name has {} bytes", segment.file_size));
    }
    const auto bytes = reader.read(segment.offset, segment.file_size);
    const auto name = bytes ? c_string_at(*bytes, 0) : std::nullopt;
    if (!name || name->empty()) {
        return malformed("the interpreter's name is empty or not ended");
    }
    return std::string(*name);
}

// Absent or odd dynamic entries are no reason to refuse: the names serve [match] only.
std::vector<std::string> read_needed(const Reader& reader, const std::vector<Segment>& segments,
                                     const Segment& dynamic) {
    const auto table =
        reader.read(dynamic.offset, std::min<std::uint64_t>(dynamic.file_size, kLargestDynamic));
    if (!table) {
        return {};
    }
    std::vector<std::uint64_t> names;
    std::uint64_t strings_address = 0;
    std::uint64_t strings_size = 0;
    for (std::uint64_t at = 0; fits(at, 16, table->size()); at += 16) {
        const auto tag = le<std::uint64_t>(*table, at);
        const auto value = le<std::uint64_t>(*table, at + 8);
        if (tag == kDtNull) {
            break;
        }
        if (tag == kDtNeeded && names.size() < kMostNeeded) {
            names.push_back(value);
        } else if (tag == kDtStrtab) {
            strings_address = value;
        } else if (tag == kDtStrsz) {
            strings_size = value;
        }
    }
    const auto strings_offset = offset_of(segments, strings_address);
    if (names.empty() || !strings_offset) {
        return {};
    }
    // Only the part of the table that holds the names, which a linker writes close together.
    constexpr std::uint64_t kLongestName = 256;
    const auto [first, last] = std::minmax_element(names.begin(), names.end());
    const std::uint64_t begin = *first;
    if (*last >= std::min(strings_size, kLargestStrings)) {
        return {};
    }
    const std::uint64_t end = std::min(strings_size, *last + kLongestName);
    const auto strings = reader.read(*strings_offset + begin, end - begin);
    std::vector<std::string> needed;
    for (const std::uint64_t name : names) {
        const Bytes rest =
            strings ? Bytes(*strings).subspan(static_cast<std::size_t>(name - begin)) : Bytes{};
        const Bytes part = rest.first(std::min<std::size_t>(rest.size(), kLongestName));
        if (const auto found = c_string_at(part, 0)) {
            needed.emplace_back(*found);
        }
    }
    return needed;
}

std::string read_marker(const Reader& reader, std::uint64_t offset, std::uint64_t size) {
    const auto bytes = reader.read(offset, size);
    if (!bytes) {
        return {};
    }
    std::uint64_t at = 0;
    while (fits(at, 12, bytes->size())) {
        const std::uint64_t name_size = le<std::uint32_t>(*bytes, at);
        const std::uint64_t descriptor_size = le<std::uint32_t>(*bytes, at + 4);
        const std::uint64_t name_at = at + 12;
        const std::uint64_t descriptor_at = name_at + ((name_size + 3) & ~std::uint64_t{3});
        const auto name = slice(*bytes, name_at, name_size);
        const auto descriptor = slice(*bytes, descriptor_at, descriptor_size);
        if (!name || !descriptor) {
            break;
        }
        if (as_text(*name) == kNoteOwner) {
            const std::string_view value = as_text(*descriptor);
            return std::string(value.substr(0, value.find('\0')));
        }
        at = descriptor_at + ((descriptor_size + 3) & ~std::uint64_t{3});
    }
    return {};
}

std::string find_marker(const Reader& reader, const std::vector<Segment>& segments) {
    std::uint64_t left = kLargestNotes;
    std::string marker;
    for (const Segment& segment : segments) {
        if (segment.type == kPtNote && marker.empty()) {
            const std::uint64_t size = std::min(segment.file_size, left);
            marker = read_marker(reader, segment.offset, size);
            left -= size;
        }
    }
    return marker;
}

Type type_of(std::uint16_t e_type) {
    return e_type == 2 ? Type::executable : e_type == 3 ? Type::shared : Type::other;
}

} // namespace

bool is_elf(Bytes first_bytes) {
    return as_text(first_bytes).starts_with(kMagic);
}

std::expected<Facts, Malformed> read_facts(const File& file) {
    const Reader reader(file);
    const auto header = slice(reader.first(), 0, kHeaderSize);
    if (!header || !is_elf(*header)) {
        return malformed(text::format("an ELF header of {} bytes was expected, the file has {}",
                                      kHeaderSize, reader.size()));
    }
    Facts facts;
    facts.is_64_bit = (*header)[4] == std::byte{2};
    facts.is_little_endian = (*header)[5] == std::byte{1};
    facts.machine = facts.is_little_endian ? le<std::uint16_t>(*header, 18)
                                           : read_be<std::uint16_t>(*header, 18).value_or(0);
    facts.type = type_of(facts.is_little_endian ? le<std::uint16_t>(*header, 16)
                                                : read_be<std::uint16_t>(*header, 16).value_or(0));
    if (!facts.is_64_bit || !facts.is_little_endian) {
        return facts; // of another machine: nothing else of it matters here
    }
    const auto segments = read_segments(reader, *header);
    if (!segments) {
        return std::unexpected(segments.error());
    }
    // Of each kind the first counts, as for the kernel; the others are not even read.
    const auto first_of = [&](std::uint32_t type) {
        const auto found = std::ranges::find(*segments, type, &Segment::type);
        return found == segments->end() ? nullptr : &*found;
    };
    if (const Segment* named = first_of(kPtInterp); named != nullptr) {
        auto interpreter = read_interpreter(reader, *named);
        if (!interpreter) {
            return std::unexpected(interpreter.error());
        }
        facts.interpreter = std::move(*interpreter);
    }
    if (const Segment* dynamic = first_of(kPtDynamic); dynamic != nullptr) {
        facts.needed = read_needed(reader, *segments, *dynamic);
    }
    facts.marker = find_marker(reader, *segments);
    return facts;
}

std::string machine_name(std::uint16_t machine) {
    static constexpr std::array<std::pair<std::uint16_t, std::string_view>, 8> kNames{{
        {3, "i386"},
        {8, "MIPS"},
        {20, "PowerPC"},
        {21, "PowerPC64"},
        {40, "ARM"},
        {62, "x86-64"},
        {183, "AArch64"},
        {243, "RISC-V"},
    }};
    for (const auto& [number, name] : kNames) {
        if (number == machine) {
            return std::string(name);
        }
    }
    return text::format("machine {}", machine);
}

std::uint16_t machine_of(const std::string& architecture) {
    return architecture == "x86_64" ? 62 : architecture == "arm64" ? 183 : 0;
}

} // namespace metalrun::elf
