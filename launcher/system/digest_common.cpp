// SPDX-License-Identifier: MIT
//
// What is the same whichever library computes the digests.
#include "system/digest.hpp"

#include <cerrno>
#include <vector>

namespace metalrun {

DigestValue digest(DigestKind kind, Bytes bytes) {
    Digest one(kind);
    one.update(bytes);
    return one.finish();
}

std::string hex(Bytes bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<std::size_t>(byte) >> 4U];
        text += kDigits[std::to_integer<std::size_t>(byte) & 0xFU];
    }
    return text;
}

std::string sha256_hex(Bytes bytes) {
    return hex(digest(DigestKind::sha256, bytes).view());
}

SysResult<std::string> sha256_hex(const File& file, std::uint64_t largest) {
    const std::uint64_t size = file.status().size_bytes;
    if (size > largest) {
        return std::unexpected(EFBIG);
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    const auto got = file.read_at(0, bytes);
    if (!got) {
        return std::unexpected(got.error());
    }
    return sha256_hex(Bytes(bytes).first(*got));
}

} // namespace metalrun
