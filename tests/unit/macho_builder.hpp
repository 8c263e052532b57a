// SPDX-License-Identifier: MIT
//
// Builds small Mach-O files for the tests, one field wrong at a time: mach-o/loader.h, mach-o/fat.h
// and, for signatures, kern/cs_blobs.h.
#pragma once

#include "elf_builder.hpp" // put()
#include "macho/format.hpp"
#include "system/digest.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metalrun::tests {

inline void put_be(std::string& out, std::uint64_t value, std::size_t size) {
    for (std::size_t i = size; i-- > 0;) {
        out += static_cast<char>(value >> (8 * i));
    }
}

inline void set_be32(std::string& in, std::size_t at, std::uint32_t value) {
    std::string bytes;
    put_be(bytes, value, 4);
    in.replace(at, 4, bytes);
}

inline Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string hash_of(std::string_view text, std::size_t size = 32, int hash_type = 2) {
    const DigestValue value = digest(hash_type == 1 ? DigestKind::sha1
                                     : size == 48   ? DigestKind::sha384
                                                    : DigestKind::sha256,
                                     bytes_of(text));
    std::string out;
    for (const std::byte byte : value.view()) {
        out += static_cast<char>(byte);
    }
    return out.substr(0, size);
}

// --- images -------------------------------------------------------------------------------------

/// One load command of 64-bit files: number, size, the rest padded to a multiple of 8.
inline std::string command(std::uint32_t number, std::string rest) {
    rest.resize((rest.size() + 7) / 8 * 8, '\0');
    std::string out;
    put(out, number, 4);
    put(out, rest.size() + 8, 4);
    return out + rest;
}

/// A command whose only text begins behind `fixed_size` bytes.
inline std::string text_command(std::uint32_t number, std::size_t fixed_size,
                                std::string_view text) {
    std::string rest;
    put(rest, fixed_size, 4);
    rest.resize(fixed_size - 8, '\0');
    return command(number, rest + std::string(text) + '\0');
}

struct Section {
    std::string name;
    std::string segment;
    std::uint32_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t address_more = 0; ///< added to its segment's address
};

inline std::string name16(std::string name) {
    name.resize(16, '\0');
    return name;
}

constexpr std::uint64_t kBase = std::uint64_t{1} << 32U; ///< where programs begin in memory

/// A segment with fields of which one may be wrong; absent ones fit the part of the file.
struct SegmentOptions {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t file_size = 0;
    std::optional<std::uint64_t> address;
    std::optional<std::uint64_t> size;
    std::uint32_t most_protection = 7;
    std::optional<std::uint32_t> protection; ///< __TEXT: r-x, others: r--
    std::vector<Section> sections;
};

inline std::string make_segment(const SegmentOptions& options) {
    const std::uint64_t address = options.address.value_or(kBase + options.offset);
    std::string rest = name16(options.name);
    put(rest, address, 8);
    put(rest, options.size.value_or(options.file_size), 8);
    put(rest, options.offset, 8);
    put(rest, options.file_size, 8);
    put(rest, options.most_protection, 4);
    put(rest, options.protection.value_or(options.name == "__TEXT" ? 5 : 1), 4);
    put(rest, options.sections.size(), 4);
    put(rest, 0, 4);
    for (const Section& one : options.sections) {
        rest += name16(one.name) + name16(one.segment);
        put(rest, address + one.address_more, 8);
        put(rest, one.size, 8);
        put(rest, one.offset, 4);
        rest.append(28, '\0');
    }
    return command(macho::kLcSegment64, rest);
}

inline std::string segment(const std::string& name, std::uint64_t offset, std::uint64_t size,
                           const std::vector<Section>& sections = {}) {
    return make_segment({.name = name, .offset = offset, .file_size = size, .sections = sections});
}

inline std::string page_zero(std::uint64_t size = kBase) {
    return make_segment(
        {.name = "__PAGEZERO", .address = 0, .size = size, .most_protection = 0, .protection = 0});
}

inline std::string numbers_command(std::uint32_t number, const std::vector<std::uint32_t>& values) {
    std::string rest;
    for (const std::uint32_t value : values) {
        put(rest, value, 4);
    }
    return command(number, rest);
}

inline std::string build_version(std::uint32_t platform, std::uint32_t sdk = 0x000e0201) {
    return numbers_command(macho::kLcBuildVersion, {platform, 0x000d0000, sdk, 0});
}

struct MachoOptions {
    std::uint32_t magic = macho::kMhMagic64;
    std::uint32_t cputype = macho::kCpuTypeArm64;
    std::uint32_t cpusubtype = 0;
    std::uint32_t filetype = macho::kMhExecute;
    std::uint32_t flags = macho::kMhDyldlink | macho::kMhPie;
    std::vector<std::string> commands = {
        page_zero(),
        segment("__TEXT", 0, 0x4000),
        text_command(macho::kLcLoadDylinker, 12, "/usr/lib/dyld"),
        numbers_command(macho::kLcMain, {0, 0, 0, 0}),
        build_version(macho::kPlatformMacos),
        text_command(macho::kLcLoadDylib, 24, "/usr/lib/libSystem.B.dylib"),
    };
    std::optional<std::uint32_t> command_count;
    std::optional<std::uint32_t> commands_size;
    std::size_t size = 0x4000;
};

inline std::string make_macho(const MachoOptions& options = {}) {
    std::string commands;
    for (const std::string& one : options.commands) {
        commands += one;
    }
    std::string out;
    put(out, options.magic, 4);
    put(out, options.cputype, 4);
    put(out, options.cpusubtype, 4);
    put(out, options.filetype, 4);
    put(out, options.command_count.value_or(static_cast<std::uint32_t>(options.commands.size())),
        4);
    put(out, options.commands_size.value_or(static_cast<std::uint32_t>(commands.size())), 4);
    put(out, options.flags, 4);
    put(out, 0, 4);
    out += commands;
    out.resize(options.size, '\0');
    return out;
}

// --- universal files ----------------------------------------------------------------------------

struct FatSlice {
    std::uint32_t cputype = macho::kCpuTypeArm64;
    std::uint32_t cpusubtype = 0;
    std::uint64_t offset = 0x4000;
    std::uint64_t size = 0x4000;
};

inline std::string make_fat_header(const std::vector<FatSlice>& slices, bool is_wide = false,
                                   std::optional<std::uint32_t> count = {}) {
    const std::size_t width = is_wide ? 8 : 4;
    std::string out;
    put_be(out, is_wide ? macho::kFatMagic64 : macho::kFatMagic, 4);
    put_be(out, count.value_or(static_cast<std::uint32_t>(slices.size())), 4);
    for (const FatSlice& slice : slices) {
        put_be(out, slice.cputype, 4);
        put_be(out, slice.cpusubtype, 4);
        put_be(out, slice.offset, width);
        put_be(out, slice.size, width);
        put_be(out, 14, 4);
        if (is_wide) {
            put_be(out, 0, 4);
        }
    }
    return out;
}

// --- signatures ---------------------------------------------------------------------------------

inline std::string make_blob(std::uint32_t magic, std::string_view content) {
    std::string out;
    put_be(out, magic, 4);
    put_be(out, content.size() + 8, 4);
    return out + std::string(content);
}

/// A code directory of version 0x20500 over `code`, with the fields of which one may be wrong.
struct DirectoryOptions {
    std::uint32_t version = 0x20500;
    std::uint32_t flags = macho::kCsAdhoc;
    std::uint8_t hash_type = 2;
    std::uint8_t hash_size = 32;
    unsigned page_shift = 12;
    std::string identifier = "test";
    std::optional<std::string> team;
    std::vector<std::pair<std::uint32_t, std::string>> special; ///< slot and blob
    std::optional<std::uint32_t> identifier_offset;
    std::optional<std::uint32_t> team_offset;
    std::optional<std::uint32_t> hash_offset;
    std::optional<std::uint32_t> special_slots;
    std::optional<std::uint32_t> code_slots;
    std::optional<std::uint64_t> code_limit;
    std::uint32_t scatter_offset = 0;
    /// Count and first page, put before the hashes with an end mark; not empty: overrides the
    /// offset.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> scatter;
    std::optional<std::uint64_t> code_limit_64;
};

inline std::string make_directory(std::string_view code, const DirectoryOptions& options = {}) {
    constexpr std::uint32_t kHeader = 96;
    const std::size_t page = options.page_shift == 14 ? 16384 : 4096;
    const std::size_t pages = (code.size() + page - 1) / page;
    std::uint32_t special_slots = 0;
    for (const auto& [slot, blob] : options.special) {
        special_slots = std::max(special_slots, slot);
    }
    const auto size = static_cast<std::uint32_t>(options.hash_size);
    std::string strings = options.identifier + '\0';
    const auto team_at = static_cast<std::uint32_t>(kHeader + strings.size());
    strings += options.team ? *options.team + '\0' : "";
    const auto scatter_at = static_cast<std::uint32_t>(kHeader + strings.size());
    for (const auto& [count, first] : options.scatter) {
        put_be(strings, count, 4);
        put_be(strings, first, 4);
        strings.append(16, '\0');
    }
    strings.append(options.scatter.empty() ? 0 : 24, '\0');
    std::string hashes;
    for (std::uint32_t slot = special_slots; slot >= 1; --slot) {
        std::string hash(size, '\0');
        for (const auto& [number, blob] : options.special) {
            hash = number == slot ? hash_of(blob, size, options.hash_type) : hash;
        }
        hashes += hash;
    }
    const auto hash_offset = static_cast<std::uint32_t>(kHeader + strings.size() + hashes.size());
    for (std::size_t i = 0; i < pages; ++i) {
        hashes += hash_of(code.substr(i * page, page), size, options.hash_type);
    }
    std::string out;
    put_be(out, macho::kMagicCodeDirectory, 4);
    put_be(out, kHeader + strings.size() + hashes.size(), 4);
    put_be(out, options.version, 4);
    put_be(out, options.flags, 4);
    put_be(out, options.hash_offset.value_or(hash_offset), 4);
    put_be(out, options.identifier_offset.value_or(kHeader), 4);
    put_be(out, options.special_slots.value_or(special_slots), 4);
    put_be(out, options.code_slots.value_or(static_cast<std::uint32_t>(pages)), 4);
    put_be(out, options.code_limit.value_or(code.size()), 4);
    put_be(out, size, 1);
    put_be(out, options.hash_type, 1);
    put_be(out, 0, 1);
    put_be(out, options.page_shift, 1);
    put_be(out, 0, 4);
    put_be(out, options.scatter.empty() ? options.scatter_offset : scatter_at, 4);
    put_be(out, options.team_offset.value_or(options.team ? team_at : 0), 4);
    put_be(out, 0, 4);
    put_be(out, options.code_limit_64.value_or(0), 8);
    put_be(out, 0, 8);
    put_be(out, 0x4000, 8);
    put_be(out, 1, 8);
    put_be(out, 0, 8);
    return out + strings + hashes;
}

using Slots = std::vector<std::pair<std::uint32_t, std::string>>;

inline std::string make_super_blob(const Slots& slots) {
    std::string index;
    std::string contents;
    for (const auto& [slot, blob] : slots) {
        put_be(index, slot, 4);
        put_be(index, 12 + 8 * slots.size() + contents.size(), 4);
        contents += blob;
    }
    std::string out;
    put_be(out, macho::kMagicEmbeddedSignature, 4);
    put_be(out, 12 + index.size() + contents.size(), 4);
    put_be(out, slots.size(), 4);
    return out + index + contents;
}

/// The code that such a signature is made for: a program whose LC_CODE_SIGNATURE names `size`
/// bytes behind it.
inline std::string code_before_signature(std::size_t size) {
    MachoOptions options;
    options.commands.push_back(
        numbers_command(macho::kLcCodeSignature, {0x4000, static_cast<std::uint32_t>(size)}));
    return make_macho(options);
}

} // namespace metalrun::tests
