// SPDX-License-Identifier: MIT
//
// See loader.hpp.
#include "loader.hpp"

#include "bounded.hpp"
#include "fixups.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace emulation {
namespace {

constexpr std::uint64_t kMaxImage = 1U << 24U;
constexpr std::uint64_t kPointer = 8;
constexpr std::uint64_t kHeader = 32;
constexpr std::uint64_t kSegmentCommand = 72;
constexpr std::uint64_t kSection = 80;

enum class Command : std::uint32_t {
    symtab = 0x2,
    load_dylib = 0xc,
    segment_64 = 0x19,
    dyld_info = 0x22,
    load_weak_dylib = 0x80000018,
    reexport_dylib = 0x8000001f,
    dyld_info_only = 0x80000022,
    main = 0x80000028,
    dyld_chained_fixups = 0x80000034,
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
        check_entry();
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
    void check_entry() const;
    void read_fixups();
    void read_initialisers();
    void read_interposed();
    void read_exports();

    [[nodiscard]] std::uint64_t code_offset(std::uint64_t offset) const;
    [[nodiscard]] Fixup fixup_at(std::uint64_t offset) const;
    [[nodiscard]] std::optional<Bytes> part(const std::optional<Range>& range,
                                            const char* what) const;

    Bytes file_;
    Image image_;
    std::optional<std::uint64_t> header_; ///< its unslid address, once a segment has it
    std::uint64_t base_ = 0;              ///< the same
    std::vector<Range> contents_;         ///< of each segment
    std::vector<Range> initialiser_pointers_;
    std::vector<Range> initialiser_offsets_;
    std::vector<Range> interposed_;
    std::optional<Range> rebases_;
    std::vector<std::pair<Range, bool>> binds_; ///< and whether they are the lazy ones
    std::optional<Range> chains_;
    std::optional<std::array<std::uint32_t, 4>> symbols_;
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
        case Command::load_dylib:
        case Command::load_weak_dylib:
        case Command::reexport_dylib:
            image_.libraries.push_back(text_at(command, word(8), "a library's name"));
            break;
        case Command::main:
            image_.entry = read_at<std::uint64_t>(command, 8, "the entry point");
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
    if (!header_ && protection == 0 && wide(48) == 0) {
        // A program's __PAGEZERO: nothing is there, but the opcodes count it.
        image_.segments.push_back({.name = "__PAGEZERO"});
        contents_.push_back({});
        return;
    }
    if (!header_) {
        header_ = address;
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
    const auto type =
        static_cast<std::uint8_t>(read_at<std::uint32_t>(section, 64, "a section") & 0xffU);
    const auto name = text_at(section.first(16), 0, "a section's name");
    image_.sections.push_back(
        {.name = name, .type = type, .offset = place.offset, .size = place.size});
    if (type == kModInitFuncPointers) {
        initialiser_pointers_.push_back(place);
    } else if (type == kInitFuncOffsets) {
        initialiser_offsets_.push_back(place);
    } else if (name == "__interpose") {
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
    for (const auto& section : image_.sections) {
        slice(image_.memory, section.offset, section.size, "a section");
    }
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
    FixupReader reader(image_.memory, image_.segments, base_);
    if (const auto opcodes = part(rebases_, "the rebase opcodes")) {
        reader.read_rebases(*opcodes);
    }
    for (const auto& [range, is_lazy] : binds_) {
        if (const auto opcodes = part(range, "the bind opcodes")) {
            reader.read_binds(*opcodes, is_lazy);
        }
    }
    if (const auto fixups = part(chains_, "the chained fixups")) {
        image_.chained = true;
        reader.read_chains(*fixups);
    }
    image_.fixups = reader.take();
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

/// The command has an offset in the file, and the header begins both.
void Parser::check_entry() const {
    if (image_.entry) {
        static_cast<void>(code_offset(*image_.entry));
    }
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
