// SPDX-License-Identifier: MIT
//
// Digests behind one interface: nettle on Linux (digest.cpp), CommonCrypto on macOS
// (digest_darwin.cpp).
#pragma once

#include "system/system.hpp"

#include <array>
#include <memory>
#include <string>

namespace metalrun {

enum class DigestKind : std::uint8_t { sha1, sha256, sha384, sha512 };

/// 20, 32, 48 or 64 bytes.
struct DigestValue {
    std::array<std::byte, 64> bytes{};
    std::size_t size = 0;

    [[nodiscard]] Bytes view() const { return Bytes(bytes).first(size); }
};

/// A digest of bytes that come one part after the other.
class Digest {
public:
    explicit Digest(DigestKind kind);
    ~Digest();
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;
    Digest(Digest&&) noexcept;
    Digest& operator=(Digest&&) noexcept;

    void update(Bytes bytes);
    /// The digest of all bytes since the last call; the next one begins anew.
    [[nodiscard]] DigestValue finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

[[nodiscard]] DigestValue digest(DigestKind kind, Bytes bytes);

/// Lower-case hexadecimal digits.
[[nodiscard]] std::string hex(Bytes bytes);

/// Lower-case hex of the SHA-256 of the bytes.
[[nodiscard]] std::string sha256_hex(Bytes bytes);

/// Lower-case hex of the SHA-256 of a whole file of at most `largest` bytes, or errno (EFBIG).
[[nodiscard]] SysResult<std::string> sha256_hex(const File& file, std::uint64_t largest);

} // namespace metalrun
