// SPDX-License-Identifier: MIT
//
// See fixups.hpp.
#include "fixups.hpp"

#include "bounded.hpp"

#include <array>
#include <string>

namespace emulation {
namespace {

constexpr std::uint64_t kPointer = 8;

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

/// The imports of the chains, by ordinal.
std::vector<Fixup> read_imports(Bytes fixups) {
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

} // namespace

void FixupReader::add_fixup(Fixup fixup) {
    if (fixups_.size() > memory_.size() / kPointer) {
        refuse("more pointers to set than fit into the image");
    }
    slice(memory_, fixup.offset, kPointer, "a pointer to set");
    fixups_.push_back(std::move(fixup));
}

void FixupReader::add_rebase(std::uint64_t offset) {
    const auto address = read_at<std::uint64_t>(memory_, offset, "a pointer to set");
    add_fixup({.offset = offset, .value = address - base_});
}

std::uint64_t FixupReader::segment_offset(unsigned index) const {
    if (index >= segments_.size()) {
        refuse("an opcode names segment " + std::to_string(index) + " of " +
               std::to_string(segments_.size()));
    }
    return segments_[index].offset;
}

void FixupReader::read_rebases(Bytes opcodes) {
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

void FixupReader::read_binds(Bytes opcodes, bool is_lazy) {
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

void FixupReader::read_chains(Bytes fixups) {
    imports_ = read_imports(fixups);
    const std::uint64_t starts = read_at<std::uint32_t>(fixups, 4, "the chained fixups");
    const auto segments = read_at<std::uint32_t>(fixups, starts, "the starts of the chains");
    if (segments > segments_.size()) {
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

void FixupReader::read_chains_of_segment(Bytes starts) {
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

void FixupReader::follow_chain(std::uint64_t offset, std::uint16_t format) {
    for (;;) {
        const auto pointer = read_at<std::uint64_t>(memory_, offset, "a chained pointer");
        if (pointer >> 63U != 0) {
            const auto ordinal = pointer & 0xffffffU;
            if (ordinal >= imports_.size()) {
                refuse("a chained pointer to import " + std::to_string(ordinal) + " of " +
                       std::to_string(imports_.size()));
            }
            Fixup fixup = imports_[ordinal];
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

} // namespace emulation
