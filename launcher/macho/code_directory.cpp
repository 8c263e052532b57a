// SPDX-License-Identifier: MIT
#include "macho/code_directory.hpp"

#include "macho/format.hpp"
#include "report/text.hpp"
#include "system/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::macho {

namespace {

// Offsets of struct __CodeDirectory, and the length it has before and in each version.
constexpr std::uint64_t kEarliestSize = 44;
constexpr std::uint64_t kScatterSize = 48;
constexpr std::uint64_t kTeamSize = 52;
constexpr std::uint64_t kCodeLimit64Size = 64;
constexpr std::uint64_t kExecSegmentSize = 88;
constexpr std::uint64_t kRuntimeSize = 96;
constexpr std::uint64_t kLinkageSize = 108;
constexpr std::uint64_t kScatterEntrySize = 24;
constexpr std::uint64_t kLongestString = 4096;
constexpr unsigned kSmallPageShift = 12;
constexpr unsigned kLargePageShift = 14;

struct VersionedSize {
    std::uint32_t version;
    std::uint64_t size;
};

// Newest first.
constexpr std::array kHeaderSizes{VersionedSize{kVersionSupportsLinkage, kLinkageSize},
                                  VersionedSize{kVersionSupportsRuntime, kRuntimeSize},
                                  VersionedSize{kVersionSupportsExecSegment, kExecSegmentSize},
                                  VersionedSize{kVersionSupportsCodeLimit64, kCodeLimit64Size},
                                  VersionedSize{kVersionSupportsTeam, kTeamSize},
                                  VersionedSize{kVersionSupportsScatter, kScatterSize}};

std::uint64_t header_size_of(std::uint32_t version) {
    for (const VersionedSize& known : kHeaderSizes) {
        if (version >= known.version) {
            return known.size;
        }
    }
    return kEarliestSize;
}

std::optional<HashType> hash_type_of(std::uint8_t number) {
    for (const HashType type :
         {HashType::sha1, HashType::sha256, HashType::sha256_truncated, HashType::sha384}) {
        if (number == static_cast<std::uint8_t>(type)) {
            return type;
        }
    }
    return std::nullopt;
}

class Parser {
public:
    Parser(const Source& signature, const DirectoryPlace& place)
        : signature_(signature), place_(place) {}

    std::expected<DirectoryFacts, Malformed> parse() {
        const auto header = signature_.read(place_.offset, std::min(place_.length, kLinkageSize));
        if (!header || header->size() < kEarliestSize) {
            return bad(text::format("has {} bytes, at least {} were expected", place_.length,
                                    kEarliestSize));
        }
        header_ = *header;
        read_header();
        if (header_.size() < header_size_of(directory_.version)) {
            return bad(text::format("of version {:#x} has {} bytes, at least {} were expected",
                                    directory_.version, place_.length,
                                    header_size_of(directory_.version)));
        }
        if (auto problem = header_problem()) {
            return bad(*problem);
        }
        for (const auto step : {&Parser::read_scatter, &Parser::pages_problem,
                                &Parser::linkage_problem, &Parser::read_strings}) {
            if (auto problem = (this->*step)()) {
                return bad(*problem);
            }
        }
        if (!read_special_hashes()) {
            return bad("cannot be read to its end");
        }
        return DirectoryFacts{.directory = std::move(directory_),
                              .special_hashes = std::move(special_hashes_)};
    }

private:
    [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const {
        return read_be<std::uint32_t>(header_, offset).value_or(0);
    }
    [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const {
        return read_be<std::uint64_t>(header_, offset).value_or(0);
    }
    [[nodiscard]] std::uint8_t u8(std::uint64_t offset) const {
        return read_be<std::uint8_t>(header_, offset).value_or(0);
    }

    [[nodiscard]] std::unexpected<Malformed> bad(const std::string& what) const {
        return malformed(
            text::format("the code directory at {:#x} of the signature {}", place_.offset, what));
    }

    void read_header() {
        directory_.slot = place_.slot;
        directory_.offset_in_slice = place_.offset; // made so by the caller, who knows the slice
        directory_.length = place_.length;
        directory_.version = u32(8);
        directory_.flags = u32(12);
        directory_.hash_offset = u32(16);
        directory_.special_slots = u32(24);
        directory_.code_slots = u32(28);
        directory_.code_limit = u32(32);
        directory_.platform = u8(38);
        const std::uint32_t version = directory_.version;
        if (version >= kVersionSupportsCodeLimit64 && u64(56) != 0) {
            directory_.code_limit = u64(56);
            directory_.has_code_limit_64 = true;
        }
        if (version >= kVersionSupportsExecSegment) {
            directory_.exec_segment_base = u64(64);
            directory_.exec_segment_limit = u64(72);
            directory_.exec_segment_flags = u64(80);
        }
        if (version >= kVersionSupportsRuntime) {
            directory_.runtime_version = u32(88);
        }
    }

    [[nodiscard]] std::optional<std::string> header_problem() {
        const unsigned page_shift = u8(39);
        const auto hash_type = hash_type_of(u8(37));
        if (!hash_type) {
            return text::format("has the unknown hash type {}", u8(37));
        }
        directory_.hash_type = *hash_type;
        const std::uint64_t hash_size = hash_size_of(*hash_type);
        if (u8(36) != hash_size) {
            return text::format("has hashes of {} bytes, {} has {}", u8(36),
                                hash_type_name(directory_.hash_type), hash_size);
        }
        if (page_shift != kSmallPageShift && page_shift != kLargePageShift) {
            return text::format("has pages of 2^{} bytes, 2^12 or 2^14 was expected", page_shift);
        }
        directory_.page_size_bytes = std::uint64_t{1} << page_shift;
        if (directory_.special_slots * hash_size > directory_.hash_offset) {
            return text::format("has {} special slots before its hashes at {:#x}",
                                directory_.special_slots, directory_.hash_offset);
        }
        if (!fits(directory_.hash_offset, directory_.code_slots * hash_size, place_.length)) {
            return text::format("has {} hashes at {:#x}, beyond its end at {:#x}",
                                directory_.code_slots, directory_.hash_offset, place_.length);
        }
        return std::nullopt;
    }

    // The kernel wants an entry of 0 pages at the end, inside the directory.
    [[nodiscard]] std::optional<std::string> read_scatter() {
        const std::uint64_t offset = directory_.version >= kVersionSupportsScatter ? u32(44) : 0;
        if (offset == 0) {
            return std::nullopt;
        }
        directory_.is_scattered = true;
        const std::uint64_t room = place_.length - std::min(place_.length, offset);
        const std::uint64_t entries =
            std::min<std::uint64_t>(room / kScatterEntrySize, kMostScatter + 1);
        const std::vector<std::byte> bytes =
            signature_.read(place_.offset + offset, entries * kScatterEntrySize)
                .value_or(std::vector<std::byte>{});
        for (std::uint64_t at = 0; at < bytes.size(); at += kScatterEntrySize) {
            const Scatter one{.first_page = read_be<std::uint32_t>(bytes, at + 4).value_or(0),
                              .pages = read_be<std::uint32_t>(bytes, at).value_or(0)};
            if (one.pages == 0) {
                return std::nullopt;
            }
            directory_.scatter.push_back(one);
        }
        return text::format("has scattered parts at {:#x} that do not end inside its {:#x} bytes, "
                            "or more than {}",
                            offset, place_.length, kMostScatter);
    }

    [[nodiscard]] std::optional<std::string> pages_problem() {
        const std::uint64_t limit = directory_.code_limit;
        const std::uint64_t page = directory_.page_size_bytes;
        const std::uint64_t pages = limit / page + (limit % page != 0 ? 1 : 0);
        // Scattered hashes need not be of all pages.
        if (pages != directory_.code_slots && !directory_.is_scattered) {
            return text::format("has {} hashes for the {} pages of its code limit {:#x}",
                                directory_.code_slots, pages, limit);
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::string> linkage_problem() {
        const bool has_linkage = directory_.version >= kVersionSupportsLinkage && u8(96) != 0;
        if (has_linkage && !fits(u32(100), u32(104), place_.length)) {
            return text::format("has {} bytes of linkage at {:#x}, beyond its end at {:#x}",
                                u32(104), u32(100), place_.length);
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::string> string_at(std::uint64_t offset) const {
        if (offset >= place_.length) {
            return std::nullopt;
        }
        const auto bytes = signature_.read(place_.offset + offset,
                                           std::min(place_.length - offset, kLongestString));
        const auto text = bytes ? c_string_at(*bytes, 0) : std::nullopt;
        return text ? std::optional<std::string>(*text) : std::nullopt;
    }

    [[nodiscard]] std::optional<std::string> read_strings() {
        // At 0 there is none, as the kernel sees it.
        auto identifier = u32(20) == 0 ? std::optional<std::string>("") : string_at(u32(20));
        if (!identifier) {
            return text::format("has an identifier at {:#x} that does not end inside its {:#x} "
                                "bytes",
                                u32(20), place_.length);
        }
        directory_.identifier = std::move(*identifier);
        const std::uint32_t team_offset = directory_.version >= kVersionSupportsTeam ? u32(48) : 0;
        if (team_offset == 0) {
            return std::nullopt;
        }
        directory_.team = string_at(team_offset);
        if (!directory_.team) {
            return text::format("has a team identifier at {:#x} that does not end inside its "
                                "{:#x} bytes",
                                team_offset, place_.length);
        }
        return std::nullopt;
    }

    // Slot k lies k hashes before the hash of the first page.
    bool read_special_hashes() {
        const std::uint64_t size = hash_size_of(directory_.hash_type);
        const std::uint32_t count = std::min(directory_.special_slots, kMostSpecialSlots);
        const auto bytes =
            signature_.read(place_.offset + directory_.hash_offset - count * size, count * size);
        if (!bytes) {
            return false;
        }
        for (std::uint32_t slot = 1; slot <= count; ++slot) {
            const auto hash = slice(*bytes, (count - slot) * size, size);
            if (hash && !std::ranges::all_of(*hash, [](std::byte b) { return b == std::byte{}; })) {
                special_hashes_.at(slot) = hex(*hash);
            }
        }
        return true;
    }

    const Source& signature_;
    const DirectoryPlace& place_;
    std::vector<std::byte> header_;
    CodeDirectory directory_;
    std::array<std::string, kMostSpecialSlots + 1> special_hashes_;
};

} // namespace

std::string_view hash_type_name(HashType type) {
    switch (type) {
    case HashType::sha1:
        return "SHA-1";
    case HashType::sha256:
        return "SHA-256";
    case HashType::sha256_truncated:
        return "truncated SHA-256";
    case HashType::sha384:
        return "SHA-384";
    }
    return "unknown";
}

std::uint64_t hash_size_of(HashType type) {
    switch (type) {
    case HashType::sha1:
    case HashType::sha256_truncated:
        return 20;
    case HashType::sha256:
        return 32;
    case HashType::sha384:
        return 48;
    }
    return 0;
}

DigestKind digest_kind_of(HashType type) {
    switch (type) {
    case HashType::sha1:
        return DigestKind::sha1;
    case HashType::sha256:
    case HashType::sha256_truncated:
        return DigestKind::sha256;
    case HashType::sha384:
        return DigestKind::sha384;
    }
    return DigestKind::sha256;
}

std::expected<DirectoryFacts, Malformed> parse_code_directory(const Source& signature,
                                                              const DirectoryPlace& place) {
    return Parser(signature, place).parse();
}

} // namespace metalrun::macho
