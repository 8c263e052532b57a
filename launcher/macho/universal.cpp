// SPDX-License-Identifier: MIT
#include "macho/universal.hpp"

#include "macho/format.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace metalrun::macho {

namespace {

constexpr std::uint64_t kFatHeaderSize = 8;
constexpr std::uint64_t kFatArchSize = 20;
constexpr std::uint64_t kFatArch64Size = 32;

std::uint32_t be32(Bytes bytes, std::uint64_t offset) {
    return read_be<std::uint32_t>(bytes, offset).value_or(0);
}

bool is_thin_magic(std::uint32_t magic) {
    const std::array<std::uint32_t, 2> magics{kMhMagic, kMhMagic64};
    return std::ranges::any_of(magics, [&](std::uint32_t known) {
        return magic == known || magic == std::byteswap(known);
    });
}

bool is_universal_magic(std::uint32_t magic) {
    return magic == kFatMagic || magic == kFatMagic64;
}

Layout thin_layout(const Source& file) {
    const Bytes header = file.first();
    const bool is_big_endian = be32(header, 0) == kMhMagic || be32(header, 0) == kMhMagic64;
    const auto field = [&](std::uint64_t offset) {
        const std::uint32_t value = be32(header, offset);
        return is_big_endian ? value : std::byteswap(value);
    };
    return {.container = Container::thin,
            .slices = {
                {.cputype = field(4), .cpusubtype = field(8), .offset = 0, .size = file.size()}}};
}

Slice read_entry(Bytes table, std::uint64_t at, Container container) {
    Slice slice{.cputype = be32(table, at), .cpusubtype = be32(table, at + 4)};
    if (container == Container::universal) {
        slice.offset = be32(table, at + 8);
        slice.size = be32(table, at + 12);
    } else {
        slice.offset = read_be<std::uint64_t>(table, at + 8).value_or(0);
        slice.size = read_be<std::uint64_t>(table, at + 16).value_or(0);
    }
    return slice;
}

std::string name_of(const Slice& slice) {
    return architecture_name(slice.cputype, slice.cpusubtype);
}

std::optional<std::string> problem_of_pair(const Slice& one, const Slice& other) {
    if (one.cputype == other.cputype && one.cpusubtype == other.cpusubtype) {
        return text::format("two slices are {}", name_of(one));
    }
    // Both were found to lie inside the file, so that these sums cannot wrap.
    if (one.offset < other.offset + other.size && other.offset < one.offset + one.size) {
        return text::format("the {} slice at {:#x} and the {} slice at {:#x} overlap", name_of(one),
                            one.offset, name_of(other), other.offset);
    }
    return std::nullopt;
}

std::optional<std::string> problem_of_slice(const Slice& slice, std::uint64_t table_end,
                                            const Source& file) {
    if (slice.offset < table_end) {
        return text::format("the {} slice begins at offset {:#x}, inside the universal header of "
                            "{:#x} bytes",
                            name_of(slice), slice.offset, table_end);
    }
    if (!fits(slice.offset, slice.size, file.size())) {
        return text::format("the {} slice covers {:#x} bytes at offset {:#x}, beyond the end of "
                            "the file at {:#x}",
                            name_of(slice), slice.size, slice.offset, file.size());
    }
    return std::nullopt;
}

std::expected<Layout, Malformed> parse_universal(const Source& file, Container container) {
    const std::uint32_t count = be32(file.first(), 4);
    const std::uint64_t entry_size =
        container == Container::universal ? kFatArchSize : kFatArch64Size;
    const std::uint64_t table_end = kFatHeaderSize + count * entry_size;
    if (count == 0) {
        return malformed("the universal header names no slice");
    }
    if (table_end > file.first().size()) {
        return malformed(text::format("the universal header of {} slices needs {:#x} bytes, the "
                                      "file has {:#x}",
                                      count, table_end, file.size()));
    }
    Layout layout{.container = container, .slices = {}};
    for (std::uint64_t at = kFatHeaderSize; at < table_end; at += entry_size) {
        const Slice slice = read_entry(file.first(), at, container);
        if (auto problem = problem_of_slice(slice, table_end, file)) {
            return malformed(std::move(*problem));
        }
        for (const Slice& earlier : layout.slices) {
            if (auto problem = problem_of_pair(earlier, slice)) {
                return malformed(std::move(*problem));
            }
        }
        layout.slices.push_back(slice);
    }
    return layout;
}

struct NamedArchitecture {
    std::uint32_t cputype;
    std::uint32_t cpusubtype;
    std::string_view name;
};

// Of x86 processors the kernel knows no other subtype of 64 bits; of the older machines every
// subtype has one name here.
constexpr std::array kArchitectures{
    NamedArchitecture{kCpuTypeArm64, kCpuSubtypeArm64All, "arm64"},
    NamedArchitecture{kCpuTypeArm64, kCpuSubtypeArm64V8, "arm64v8"},
    NamedArchitecture{kCpuTypeArm64, kCpuSubtypeArm64e, "arm64e"},
    NamedArchitecture{kCpuTypeX86x64, kCpuSubtypeX86All, "x86_64"},
    NamedArchitecture{kCpuTypeX86x64, kCpuSubtypeX86x64H, "x86_64h"},
};

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 5> kFamilies{{
    {kCpuTypeX86, "i386"},
    {kCpuTypeArm, "arm"},
    {kCpuTypeArm64x32, "arm64_32"},
    {kCpuTypePowerpc, "ppc"},
    {kCpuTypePowerpc64, "ppc64"},
}};

} // namespace

bool is_macho(Bytes first_bytes) {
    const std::uint32_t magic = be32(first_bytes, 0);
    if (is_universal_magic(magic)) {
        const auto count = read_be<std::uint32_t>(first_bytes, 4);
        return count && *count <= kMostSlices;
    }
    return is_thin_magic(magic);
}

std::expected<Layout, Malformed> parse_layout(const Source& file) {
    if (!is_macho(file.first())) {
        return std::unexpected(
            Malformed{.message = "the file does not begin as a Mach-O or universal file does",
                      .is_macho = false});
    }
    switch (be32(file.first(), 0)) {
    case kFatMagic:
        return parse_universal(file, Container::universal);
    case kFatMagic64:
        return parse_universal(file, Container::universal64);
    default:
        return thin_layout(file);
    }
}

std::string architecture_name(std::uint32_t cputype, std::uint32_t cpusubtype) {
    for (const NamedArchitecture& known : kArchitectures) {
        if (known.cputype == cputype && known.cpusubtype == (cpusubtype & ~kCpuSubtypeMask)) {
            return std::string(known.name);
        }
    }
    for (const auto& [family, name] : kFamilies) {
        if (family == cputype) {
            return std::string(name);
        }
    }
    return text::format("unknown ({:#x}, {:#x})", cputype, cpusubtype);
}

} // namespace metalrun::macho
