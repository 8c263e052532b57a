// SPDX-License-Identifier: MIT
#include "system/digest.hpp"

#include "macho/bytes.hpp"

#include <array>
#include <cerrno>
#include <vector>

#include <nettle/sha2.h>

namespace metalrun {

std::string sha256_hex(Bytes bytes) {
    sha256_ctx context{};
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
    sha256_init(&context);
    // NOLINTNEXTLINE(*-reinterpret-cast): std::byte to nettle's byte type
    sha256_update(&context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
    sha256_digest(&context, digest.size(), digest.data());
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t byte : digest) {
        hex += kDigits[byte >> 4U];
        hex += kDigits[byte & 0xFU];
    }
    return hex;
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
