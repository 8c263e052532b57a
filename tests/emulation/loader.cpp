// SPDX-License-Identifier: MIT
//
// See loader.hpp. Inside this file a malformed input is an exception, which parse_image turns into
// its error: nearly every line can find one.
#include "loader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace emulation {
namespace {

static_assert(std::endian::native == std::endian::little, "the fields are read as they lie");

constexpr std::uint64_t kMaxImage = 1U << 20U;
constexpr std::uint64_t kPointer = 8;
constexpr std::uint64_t kHeader = 32;
constexpr std::uint64_t kSegmentCommand = 72;
constexpr std::uint64_t kSection = 80;

enum class Command : std::uint32_t {
    symtab = 0x2,
    segment_64 = 0x19,
    dyld_info = 0x22,
    dyld_info_only = 0x80000022,
    dyld_chained_fixups = 0x80000034,
};

struct Malformed {
    std::string message;
};

[[noreturn]] void refuse(std::string message) {
    throw Malformed{std::move(message)};
}

Bytes slice(Bytes bytes, std::uint64_t offset, std::uint64_t length, const char* what) {
    if (offset > bytes.size() || length > bytes.size() - offset) {
        refuse(std::string(what) + " at offset " + std::to_string(offset) + " with " +
               std::to_string(length) + " bytes is beyond the end at " +
               std::to_string(bytes.size()));
    }
    return bytes.subspan(offset, length);
}

Bytes tail(Bytes bytes, std::uint64_t offset, const char* what) {
    return slice(bytes, offset, bytes.size() - std::min<std::uint64_t>(offset, bytes.size()), what);
}

template <class T> T read_at(Bytes bytes, std::uint64_t offset, const char* what) {
    T value{};
    std::memcpy(&value, slice(bytes, offset, sizeof value, what).data(), sizeof value);
    return value;
}

std::uint32_t read_big_endian(Bytes bytes, std::uint64_t offset, const char* what) {
    return __builtin_bswap32(read_at<std::uint32_t>(bytes, offset, what));
}

/// A string that a null byte ends, or the end of its field.
std::string text_at(Bytes bytes, std::uint64_t offset, const char* what) {
    std::string text;
    for (const std::byte byte : tail(bytes, offset, what)) {
        if (byte == std::byte{0}) {
            break;
        }
        text.push_back(static_cast<char>(byte));
    }
    return text;
}

/// Walks a stream of opcodes and their operands.
class Stream {
public:
    explicit Stream(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

    std::uint8_t byte() { return read_at<std::uint8_t>(bytes_, at_++, "an opcode"); }

    std::uint64_t uleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = byte();
            value |= static_cast<std::uint64_t>(next & 0x7fU) << shift;
            if ((next & 0x80U) == 0) {
                return value;
            }
        }
        refuse("a number of an opcode has more than 64 bits");
    }

    std::uint64_t sleb() { // as the two's complement that it is added as
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = byte();
            value |= static_cast<std::uint64_t>(next & 0x7fU) << shift;
            if ((next & 0x80U) == 0) {
                const bool negative = (next & 0x40U) != 0 && shift + 7 < 64;
                return negative ? value | ~std::uint64_t{0} << (shift + 7) : value;
            }
        }
        refuse("a number of an opcode has more than 64 bits");
    }

    std::string text() {
        std::string result = text_at(bytes_, at_, "a symbol");
        at_ += result.size();
        static_cast<void>(byte()); // the null byte must be there
        return result;
    }

private:
    Bytes bytes_;
    std::uint64_t at_ = 0;
};

struct Range {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

class Parser {
public:
    explicit Parser(Bytes file) : file_(file) {}

    Image parse() {
        read_commands();
        lay_out();
        read_fixups();
        read_initialisers();
        read_interposed();
        read_exports();
        return std::move(image_);
    }

private:
    void read_commands();
    void read_segment(Bytes command);
    void read_section(Bytes section, std::uint64_t segment_address);
    void lay_out();
    void read_fixups();
    void read_rebases(Bytes opcodes);
    void read_binds(Bytes opcodes, bool is_lazy);
    void read_chains(Bytes fixups);
    void read_chains_of_segment(Bytes starts);
    void follow_chain(std::uint64_t offset, std::uint16_t format);
    [[nodiscard]] std::vector<Fixup> read_chained_imports(Bytes fixups) const;
    void read_initialisers();
    void read_interposed();
    void read_exports();

    void add_fixup(Fixup fixup);
    void add_rebase(std::uint64_t offset);
    [[nodiscard]] std::uint64_t segment_offset(unsigned index) const;
    [[nodiscard]] std::uint64_t code_offset(std::uint64_t offset) const;
    [[nodiscard]] Fixup fixup_at(std::uint64_t offset) const;
    [[nodiscard]] std::optional<Bytes> part(const std::optional<Range>& range,
                                            const char* what) const;

    Bytes file_;
    Image image_;
    std::uint64_t base_ = 0;      ///< the unslid address of the header
    std::vector<Range> contents_; ///< of each segment
    std::vector<Range> initialiser_pointers_;
    std::vector<Range> initialiser_offsets_;
    std::vector<Range> interposed_;
    std::optional<Range> rebases_;
    std::vector<std::pair<Range, bool>> binds_; ///< and whether they are the lazy ones
    std::optional<Range> chains_;
    std::optional<std::array<std::uint32_t, 4>> symbols_;
    std::vector<Fixup> chained_imports_;
};

void Parser::read_commands() {
    if (read_at<std::uint32_t>(file_, 0, "the magic number") != 0xfeedfacf) {
        refuse("not a Mach-O image of 64 bits");
    }
    const auto count = read_at<std::uint32_t>(file_, 16, "the header");
    const auto size = read_at<std::uint32_t>(file_, 20, "the header");
    const Bytes commands = slice(file_, kHeader, size, "the load commands");
    std::uint64_t at = 0;
    for (std::uint32_t index = 0; index < count; ++index) {
        const auto kind = read_at<std::uint32_t>(commands, at, "a load command");
        const auto length = read_at<std::uint32_t>(commands, at + 4, "a load command");
        if (length < 8) { // this also ends the loop when the count is wrong
            refuse("a load command of " + std::to_string(length) + " bytes");
        }
        const Bytes command = slice(commands, at, length, "a load command");
        const auto word = [&command](std::uint64_t offset) {
            return read_at<std::uint32_t>(command, offset, "a load command");
        };
        switch (static_cast<Command>(kind)) {
        case Command::segment_64:
            read_segment(command);
            break;
        case Command::dyld_info:
        case Command::dyld_info_only:
            rebases_ = Range{word(8), word(12)};
            binds_ = {{Range{word(16), word(20)}, false},
                      {Range{word(24), word(28)}, false}, // the weak ones, after the others
                      {Range{word(32), word(36)}, true}};
            break;
        case Command::dyld_chained_fixups:
            chains_ = Range{word(8), word(12)};
            break;
        case Command::symtab:
            symbols_ = {word(8), word(12), word(16), word(20)};
            break;
        }
        at += length;
    }
}

void Parser::read_segment(Bytes command) {
    constexpr std::uint32_t kReadOnlyAfterFixups = 0x10;
    const auto wide = [&command](std::uint64_t offset) {
        return read_at<std::uint64_t>(command, offset, "a segment");
    };
    const auto address = wide(24);
    const auto flags = read_at<std::uint32_t>(command, 68, "a segment");
    const auto protection = read_at<std::uint32_t>(command, 60, "a segment");
    if (image_.segments.empty()) {
        base_ = address;
        if (wide(40) != 0) {
            refuse("the first segment does not begin with the header");
        }
    }
    if (address < base_) {
        refuse("a segment lies before the first");
    }
    image_.segments.push_back(
        {.name = text_at(slice(command, 8, 16, "a segment"), 0, "a segment's name"),
         .offset = address - base_,
         .size = wide(32),
         .protection = (flags & kReadOnlyAfterFixups) != 0 ? protection & ~2U : protection});
    contents_.push_back({.offset = wide(40), .size = wide(48)});
    const auto count = read_at<std::uint32_t>(command, 64, "a segment");
    if (count > command.size() / kSection) {
        refuse("a segment of " + std::to_string(count) + " sections");
    }
    for (std::uint32_t index = 0; index < count; ++index) {
        read_section(slice(command, kSegmentCommand + index * kSection, kSection, "a section"),
                     address);
    }
}

void Parser::read_section(Bytes section, std::uint64_t segment_address) {
    constexpr std::uint32_t kModInitFuncPointers = 0x9;
    constexpr std::uint32_t kInitFuncOffsets = 0x16;
    const auto address = read_at<std::uint64_t>(section, 32, "a section");
    if (address < segment_address) {
        refuse("a section lies before its segment");
    }
    const Range place{.offset = address - base_,
                      .size = read_at<std::uint64_t>(section, 40, "a section")};
    const auto type = read_at<std::uint32_t>(section, 64, "a section") & 0xffU;
    if (type == kModInitFuncPointers) {
        initialiser_pointers_.push_back(place);
    } else if (type == kInitFuncOffsets) {
        initialiser_offsets_.push_back(place);
    } else if (text_at(section.first(16), 0, "a section's name") == "__interpose") {
        interposed_.push_back(place);
    }
}

void Parser::lay_out() {
    std::uint64_t size = 0;
    for (const auto& segment : image_.segments) {
        if (segment.offset > kMaxImage || segment.size > kMaxImage - segment.offset) {
            refuse("segment '" + segment.name + "' makes the image too large");
        }
        size = std::max(size, segment.offset + segment.size);
    }
    for (std::size_t index = 0; index < contents_.size(); ++index) {
        slice(file_, contents_[index].offset, contents_[index].size, "the content of a segment");
        if (contents_[index].size > image_.segments[index].size) {
            refuse("segment '" + image_.segments[index].name + "' is smaller than its content");
        }
    }
    image_.memory.resize(size);
    for (std::size_t index = 0; index < contents_.size(); ++index) {
        std::ranges::copy(file_.subspan(contents_[index].offset, contents_[index].size),
                          image_.memory.begin() +
                              static_cast<std::ptrdiff_t>(image_.segments[index].offset));
    }
}

std::optional<Bytes> Parser::part(const std::optional<Range>& range, const char* what) const {
    if (!range || range->size == 0) {
        return std::nullopt;
    }
    return slice(file_, range->offset, range->size, what);
}

void Parser::read_fixups() {
    if (const auto opcodes = part(rebases_, "the rebase opcodes")) {
        read_rebases(*opcodes);
    }
    for (const auto& [range, is_lazy] : binds_) {
        if (const auto opcodes = part(range, "the bind opcodes")) {
            read_binds(*opcodes, is_lazy);
        }
    }
    if (const auto fixups = part(chains_, "the chained fixups")) {
        image_.chained = true;
        read_chains(*fixups);
    }
}

void Parser::add_fixup(Fixup fixup) {
    if (image_.fixups.size() > image_.memory.size() / kPointer) {
        refuse("more pointers to set than fit into the image");
    }
    slice(image_.memory, fixup.offset, kPointer, "a pointer to set");
    image_.fixups.push_back(std::move(fixup));
}

void Parser::add_rebase(std::uint64_t offset) {
    const auto address = read_at<std::uint64_t>(image_.memory, offset, "a pointer to set");
    add_fixup({.offset = offset, .value = address - base_});
}

std::uint64_t Parser::segment_offset(unsigned index) const {
    if (index >= image_.segments.size()) {
        refuse("an opcode names segment " + std::to_string(index) + " of " +
               std::to_string(image_.segments.size()));
    }
    return image_.segments[index].offset;
}

void Parser::read_rebases(Bytes opcodes) {
    Stream stream(opcodes);
    std::uint64_t offset = 0;
    const auto rebase = [&](std::uint64_t times, std::uint64_t skip) {
        for (; times != 0; --times) { // add_rebase ends it when the number is wrong
            add_rebase(offset);
            offset += kPointer + skip;
        }
    };
    while (!stream.at_end()) {
        const std::uint8_t byte = stream.byte();
        const auto operand = static_cast<unsigned>(byte & 0x0fU);
        switch (byte & 0xf0U) {
        case 0x00: // done
            return;
        case 0x10: // type
            break;
        case 0x20: // segment and offset
            offset = segment_offset(operand) + stream.uleb();
            break;
        case 0x30: // add
            offset += stream.uleb();
            break;
        case 0x40: // add pointers
            offset += operand * kPointer;
            break;
        case 0x50: // several
            rebase(operand, 0);
            break;
        case 0x60: // many
            rebase(stream.uleb(), 0);
            break;
        case 0x70: // one, add
            rebase(1, stream.uleb());
            break;
        case 0x80: { // many with gaps
            const auto times = stream.uleb();
            rebase(times, stream.uleb());
            break;
        }
        default:
            refuse("an unknown rebase opcode");
        }
    }
}

void Parser::read_binds(Bytes opcodes, bool is_lazy) {
    Stream stream(opcodes);
    Fixup next;
    const auto bind = [&](std::uint64_t times, std::uint64_t skip) {
        if (next.import.empty()) {
            refuse("a bind opcode without a symbol");
        }
        for (; times != 0; --times) { // add_fixup ends it when the number is wrong
            add_fixup(next);
            next.offset += kPointer + skip;
        }
    };
    while (!stream.at_end()) {
        const std::uint8_t byte = stream.byte();
        const auto operand = static_cast<unsigned>(byte & 0x0fU);
        switch (byte & 0xf0U) {
        case 0x00: // done; the lazy ones have it after each
            if (!is_lazy) {
                return;
            }
            break;
        case 0x10: // the library, small, by number
        case 0x30: // or special: the caller looks in all of them
        case 0x50: // type
            break;
        case 0x20: // the library, large
            stream.uleb();
            break;
        case 0x40:
            next.import = stream.text();
            next.weak = (operand & 1U) != 0;
            break;
        case 0x60:
            next.value = stream.sleb();
            break;
        case 0x70: // segment and offset
            next.offset = segment_offset(operand) + stream.uleb();
            break;
        case 0x80: // add
            next.offset += stream.uleb();
            break;
        case 0x90: // one
            bind(1, 0);
            break;
        case 0xa0: // one, add
            bind(1, stream.uleb());
            break;
        case 0xb0: // one, add pointers
            bind(1, operand * kPointer);
            break;
        case 0xc0: { // many with gaps
            const auto times = stream.uleb();
            bind(times, stream.uleb());
            break;
        }
        default:
            refuse("an unknown bind opcode");
        }
    }
}

std::vector<Fixup> Parser::read_chained_imports(Bytes fixups) const {
    const auto word = [&fixups](std::uint64_t offset) {
        return read_at<std::uint32_t>(fixups, offset, "the chained fixups");
    };
    const auto table = word(8);
    const auto symbols = word(12);
    const auto count = word(16);
    const auto format = word(20);
    if (word(24) != 0) {
        refuse("the symbols of the chained fixups are compressed");
    }
    if (format < 1 || format > 3) {
        refuse("imports of format " + std::to_string(format));
    }
    constexpr std::array<std::uint64_t, 4> kEntrySizes{0, 4, 8, 16};
    const auto entry_size = kEntrySizes[format];
    slice(fixups, table, count * entry_size, "the imports"); // before the loop trusts the count
    std::vector<Fixup> imports;
    for (std::uint32_t index = 0; index < count; ++index) {
        const auto at = table + index * entry_size;
        Fixup import;
        if (format == 3) {
            const auto entry = read_at<std::uint64_t>(fixups, at, "an import");
            import.weak = (entry >> 16U & 1U) != 0;
            import.import = text_at(fixups, symbols + (entry >> 32U), "a symbol");
            import.value = read_at<std::uint64_t>(fixups, at + 8, "an import");
        } else {
            const auto entry = word(at);
            import.weak = (entry >> 8U & 1U) != 0;
            import.import = text_at(fixups, symbols + std::uint64_t{entry >> 9U}, "a symbol");
            if (format == 2) {
                import.value = static_cast<std::uint64_t>(
                    std::int64_t{read_at<std::int32_t>(fixups, at + 4, "an import")});
            }
        }
        if (import.import.empty()) {
            refuse("an import without a name");
        }
        imports.push_back(std::move(import));
    }
    return imports;
}

void Parser::read_chains(Bytes fixups) {
    chained_imports_ = read_chained_imports(fixups);
    const std::uint64_t starts = read_at<std::uint32_t>(fixups, 4, "the chained fixups");
    const auto segments = read_at<std::uint32_t>(fixups, starts, "the starts of the chains");
    if (segments > image_.segments.size()) {
        refuse("chains of more segments than there are");
    }
    for (std::uint32_t index = 0; index < segments; ++index) {
        const std::uint64_t offset = read_at<std::uint32_t>(
            fixups, starts + 4 + std::uint64_t{index} * 4, "the starts of the chains");
        if (offset != 0) {
            read_chains_of_segment(tail(fixups, starts + offset, "the chains of a segment"));
        }
    }
}

void Parser::read_chains_of_segment(Bytes starts) {
    constexpr const char* kWhat = "the chains of a segment";
    constexpr std::uint16_t kNone = 0xffff;
    constexpr std::uint16_t kSeveral = 0x8000;
    const auto page_size = read_at<std::uint16_t>(starts, 4, kWhat);
    const auto format = read_at<std::uint16_t>(starts, 6, kWhat);
    const auto segment = read_at<std::uint64_t>(starts, 8, kWhat);
    const auto pages = read_at<std::uint16_t>(starts, 20, kWhat);
    if (format != 2 && format != 6) {
        refuse("pointers of format " + std::to_string(format) + ", not 2 or 6");
    }
    for (std::uint16_t page = 0; page < pages; ++page) {
        const auto start =
            read_at<std::uint16_t>(starts, 22 + std::uint64_t{page} * 2, "the starts of a page");
        if (start == kNone) {
            continue;
        }
        if ((start & kSeveral) != 0) {
            refuse("a page with several chains");
        }
        follow_chain(segment + std::uint64_t{page} * page_size + start, format);
    }
}

void Parser::follow_chain(std::uint64_t offset, std::uint16_t format) {
    for (;;) {
        const auto pointer = read_at<std::uint64_t>(image_.memory, offset, "a chained pointer");
        if (pointer >> 63U != 0) {
            const auto ordinal = pointer & 0xffffffU;
            if (ordinal >= chained_imports_.size()) {
                refuse("a chained pointer to import " + std::to_string(ordinal) + " of " +
                       std::to_string(chained_imports_.size()));
            }
            Fixup fixup = chained_imports_[ordinal];
            fixup.offset = offset;
            fixup.value += pointer >> 24U & 0xffU;
            add_fixup(std::move(fixup));
        } else {
            const auto target = pointer & 0xfffffffffU;
            add_fixup({.offset = offset,
                       .value = format == 6 ? target : target - base_,
                       .high8 = static_cast<std::uint8_t>(pointer >> 36U & 0xffU)});
        }
        const auto next = pointer >> 51U & 0xfffU;
        if (next == 0) {
            return;
        }
        offset += next * 4;
    }
}

/// An offset at which code may be called.
std::uint64_t Parser::code_offset(std::uint64_t offset) const {
    const auto holds = [offset](const Segment& segment) {
        return (segment.protection & 4U) != 0 && offset >= segment.offset &&
               offset - segment.offset < segment.size;
    };
    if (std::ranges::none_of(image_.segments, holds)) {
        refuse("a function outside the code");
    }
    return offset;
}

Fixup Parser::fixup_at(std::uint64_t offset) const {
    const auto found = std::ranges::find(image_.fixups, offset, &Fixup::offset);
    if (found == image_.fixups.end()) {
        refuse("a function pointer that is not set");
    }
    return *found;
}

void Parser::read_initialisers() {
    for (const auto& place : initialiser_pointers_) {
        slice(image_.memory, place.offset, place.size, "the initialisers");
        for (std::uint64_t at = 0; at + kPointer <= place.size; at += kPointer) {
            image_.initialisers.push_back(code_offset(fixup_at(place.offset + at).value));
        }
    }
    for (const auto& place : initialiser_offsets_) {
        slice(image_.memory, place.offset, place.size, "the initialisers");
        for (std::uint64_t at = 0; at + 4 <= place.size; at += 4) {
            image_.initialisers.push_back(code_offset(
                read_at<std::uint32_t>(image_.memory, place.offset + at, "the initialisers")));
        }
    }
}

void Parser::read_interposed() {
    for (const auto& place : interposed_) {
        slice(image_.memory, place.offset, place.size, "the interposed functions");
        for (std::uint64_t at = 0; at + 2 * kPointer <= place.size; at += 2 * kPointer) {
            const auto original = fixup_at(place.offset + at + kPointer).import;
            const auto replacement = code_offset(fixup_at(place.offset + at).value);
            image_.interposed.push_back({.replacement_offset = replacement, .original = original});
        }
    }
}

void Parser::read_exports() {
    constexpr std::uint64_t kEntry = 16;
    constexpr std::uint8_t kPrivateExternal = 0x10;
    constexpr std::uint8_t kInSection = 0x0e;
    constexpr std::uint8_t kExternal = 0x01;
    if (!symbols_) {
        return;
    }
    const auto [table_offset, count, strings_offset, strings_size] = *symbols_;
    const Bytes table = slice(file_, table_offset, count * kEntry, "the symbols");
    const Bytes strings = slice(file_, strings_offset, strings_size, "the names of the symbols");
    for (std::uint64_t at = 0; at < table.size(); at += kEntry) {
        const auto type = read_at<std::uint8_t>(table, at + 4, "a symbol");
        if ((type & (kPrivateExternal | kInSection | kExternal)) == (kInSection | kExternal)) {
            const auto name = read_at<std::uint32_t>(table, at, "a symbol");
            const auto address = read_at<std::uint64_t>(table, at + 8, "a symbol");
            image_.exports.emplace(text_at(strings, name, "a symbol's name"), address - base_);
        }
    }
}

/// The slice for the processor, without a subtype's variant such as arm64e.
Bytes find_slice(Bytes file, Cpu cpu) {
    constexpr std::uint32_t kUniversal = 0xcafebabe;
    constexpr std::uint32_t kMaxSlices = 16;
    const auto wanted = static_cast<std::uint32_t>(cpu);
    const auto check = [wanted](Bytes thin) {
        const auto found = read_at<std::uint32_t>(thin, 4, "the header");
        if (found != wanted) {
            refuse("made for processor " + std::to_string(found) + ", not " +
                   std::to_string(wanted));
        }
        return thin;
    };
    if (read_big_endian(file, 0, "the magic number") != kUniversal) {
        return check(file);
    }
    const auto count = std::min(read_big_endian(file, 4, "the universal header"), kMaxSlices);
    for (std::uint32_t index = 0; index < count; ++index) {
        const std::uint64_t at = 8 + std::uint64_t{index} * 20;
        const auto subtype = read_big_endian(file, at + 4, "a slice") & 0xffU;
        const bool is_arm64e = cpu == Cpu::arm64 && subtype == 2;
        if (read_big_endian(file, at, "a slice") == wanted && !is_arm64e) {
            return check(slice(file, read_big_endian(file, at + 8, "a slice"),
                               read_big_endian(file, at + 12, "a slice"), "a slice"));
        }
    }
    refuse("no slice for the processor");
}

} // namespace

std::set<std::string> Image::imports() const {
    std::set<std::string> names;
    for (const auto& fixup : fixups) {
        if (!fixup.import.empty()) {
            names.insert(fixup.import);
        }
    }
    return names;
}

std::expected<Image, std::string> parse_image(Bytes file, Cpu cpu) {
    try {
        return Parser(find_slice(file, cpu)).parse();
    } catch (const Malformed& malformed) {
        return std::unexpected(malformed.message);
    }
}

std::expected<Image, std::string> read_image(const std::string& path, Cpu cpu) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return std::unexpected("cannot read '" + path + "'");
    }
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    return parse_image(std::as_bytes(std::span(text)), cpu);
}

std::expected<std::vector<std::byte>, std::string>
place_image(const Image& image, std::uint64_t address, const Resolve& resolve) {
    std::vector<std::byte> memory = image.memory;
    for (const auto& fixup : image.fixups) {
        std::uint64_t pointer = address + fixup.value;
        if (!fixup.import.empty()) {
            const auto found = resolve(fixup.import);
            if (found == 0 && !fixup.weak) {
                return std::unexpected("'" + fixup.import + "' is missing");
            }
            pointer = found == 0 ? 0 : found + fixup.value;
        }
        pointer |= static_cast<std::uint64_t>(fixup.high8) << 56U;
        std::memcpy(std::span(memory).subspan(fixup.offset, kPointer).data(), &pointer, kPointer);
    }
    return memory;
}

} // namespace emulation
