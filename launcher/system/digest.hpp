// SPDX-License-Identifier: MIT
//
// SHA-256 behind one function: nettle on Linux, CommonCrypto on macOS (digest_darwin in
// darwin.cpp).
#pragma once

#include "system/system.hpp"

#include <string>

namespace metalrun {

/// Lower-case hex of the SHA-256 of the bytes.
[[nodiscard]] std::string sha256_hex(Bytes bytes);

/// Lower-case hex of the SHA-256 of a whole file of at most `largest` bytes, or errno (EFBIG).
[[nodiscard]] SysResult<std::string> sha256_hex(const File& file, std::uint64_t largest);

} // namespace metalrun
