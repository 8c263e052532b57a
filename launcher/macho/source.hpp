// SPDX-License-Identifier: MIT
//
// Bounded reads of a part of an open file, and the one kind of failure that reading a Mach-O file
// can have. The start of the part is read once: nearly all that is asked for lies there.
#pragma once

#include "macho/bytes.hpp"
#include "system/system.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace metalrun::macho {

/// Why a file, a slice or a signature cannot be believed: one sentence in lower case, with the
/// offsets and sizes that disagree.
struct Malformed {
    std::string message;
    bool is_macho = true; ///< it begins as a Mach-O or universal file does

    bool operator==(const Malformed&) const = default;
};

[[nodiscard]] inline std::unexpected<Malformed> malformed(std::string message) {
    return std::unexpected(Malformed{.message = std::move(message)});
}

/// `size` bytes of a file from `offset` on; offsets given to read() count from there.
class Source {
public:
    Source(const File& file, std::uint64_t offset, std::uint64_t size);

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] std::uint64_t offset_in_file() const { return offset_; }
    /// The first bytes, at most kFirstBytes.
    [[nodiscard]] Bytes first() const { return first_; }
    /// All `length` bytes at `offset`, or nothing if they are not all there. The caller has capped
    /// `length`.
    [[nodiscard]] std::optional<std::vector<std::byte>> read(std::uint64_t offset,
                                                             std::uint64_t length) const;
    /// Fills `into` from `offset` on, without keeping a copy; false if not all of it is there.
    [[nodiscard]] bool read_into(std::uint64_t offset, std::span<std::byte> into) const;
    /// The part of this part: `length` bytes at `offset`, cut off at the end of this one.
    [[nodiscard]] Source part(std::uint64_t offset, std::uint64_t length) const;

    static constexpr std::uint64_t kFirstBytes = 4096;

private:
    const File* file_;
    std::uint64_t offset_;
    std::uint64_t size_;
    std::vector<std::byte> first_;
};

} // namespace metalrun::macho
