// SPDX-License-Identifier: MIT
//
// Bounded access to bytes of a file. Every offset and length is widened to 64 bits before it is
// compared, and compared without an addition that could wrap; nothing is cast to a struct.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace metalrun {

using Bytes = std::span<const std::byte>;

/// True if `length` bytes at `offset` lie inside something of `size` bytes.
[[nodiscard]] constexpr bool fits(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return offset <= size && length <= size - offset;
}

/// `length` bytes at `offset`, or nothing if they are not all there.
[[nodiscard]] inline std::optional<Bytes> slice(Bytes bytes, std::uint64_t offset,
                                                std::uint64_t length) {
    if (!fits(offset, length, bytes.size())) {
        return std::nullopt;
    }
    return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

namespace detail {
template <std::unsigned_integral T, std::endian Order>
[[nodiscard]] std::optional<T> read_integer(Bytes bytes, std::uint64_t offset) {
    const auto part = slice(bytes, offset, sizeof(T));
    if (!part) {
        return std::nullopt;
    }
    std::array<std::byte, sizeof(T)> raw{};
    std::copy(part->begin(), part->end(), raw.begin());
    if constexpr (Order != std::endian::native) {
        std::reverse(raw.begin(), raw.end());
    }
    return std::bit_cast<T>(raw);
}
} // namespace detail

template <std::unsigned_integral T>
[[nodiscard]] std::optional<T> read_le(Bytes bytes, std::uint64_t offset) {
    return detail::read_integer<T, std::endian::little>(bytes, offset);
}

template <std::unsigned_integral T>
[[nodiscard]] std::optional<T> read_be(Bytes bytes, std::uint64_t offset) {
    return detail::read_integer<T, std::endian::big>(bytes, offset);
}

/// The bytes as characters; the view lives as long as the bytes.
[[nodiscard]] inline std::string_view as_text(Bytes bytes) {
    // The one place where file bytes become characters.
    return {
        reinterpret_cast<const char*>(bytes.data()), // NOLINT(*-reinterpret-cast): char may alias
        bytes.size()};
}

/// The text at `offset` up to a NUL, or nothing if the bytes end before one.
[[nodiscard]] inline std::optional<std::string_view> c_string_at(Bytes bytes,
                                                                 std::uint64_t offset) {
    if (offset >= bytes.size()) {
        return std::nullopt;
    }
    const std::string_view rest = as_text(bytes.subspan(static_cast<std::size_t>(offset)));
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    return rest.substr(0, end);
}

} // namespace metalrun
