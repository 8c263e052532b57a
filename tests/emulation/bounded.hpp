// SPDX-License-Identifier: MIT
//
// Reading from bytes that are not trusted. What is malformed is an exception, which parse_image
// turns into its error: nearly every line of the loader can find something.
#pragma once

#include "loader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace emulation {

static_assert(std::endian::native == std::endian::little, "the fields are read as they lie");

struct Malformed {
    std::string message;
};

[[noreturn]] inline void refuse(std::string message) {
    throw Malformed{std::move(message)};
}

/// The part with that offset and length, both checked.
inline Bytes slice(Bytes bytes, std::uint64_t offset, std::uint64_t length, const char* what) {
    if (offset > bytes.size() || length > bytes.size() - offset) {
        refuse(std::string(what) + " at offset " + std::to_string(offset) + " with " +
               std::to_string(length) + " bytes is beyond the end at " +
               std::to_string(bytes.size()));
    }
    return bytes.subspan(offset, length);
}

/// All from that offset on.
inline Bytes tail(Bytes bytes, std::uint64_t offset, const char* what) {
    return slice(bytes, offset, bytes.size() - std::min<std::uint64_t>(offset, bytes.size()), what);
}

template <class T> T read_at(Bytes bytes, std::uint64_t offset, const char* what) {
    T value{};
    std::memcpy(&value, slice(bytes, offset, sizeof value, what).data(), sizeof value);
    return value;
}

inline std::uint32_t read_big_endian(Bytes bytes, std::uint64_t offset, const char* what) {
    return __builtin_bswap32(read_at<std::uint32_t>(bytes, offset, what));
}

/// A string that a null byte ends, or the end of its field.
inline std::string text_at(Bytes bytes, std::uint64_t offset, const char* what) {
    std::string text;
    for (const std::byte byte : tail(bytes, offset, what)) {
        if (byte == std::byte{0}) {
            break;
        }
        text.push_back(static_cast<char>(byte));
    }
    return text;
}

} // namespace emulation
