// SPDX-License-Identifier: MIT
//
// Looking at the library to insert.
#pragma once

#include "judge/judge.hpp"
#include "profile/trust.hpp"
#include "system/system.hpp"

#include <string>
#include <string_view>

namespace metalrun::target {

/// Largest library that is hashed (bytes); the shim has some tens of kilobytes.
inline constexpr std::uint64_t kLargestShim = 64U << 20;

enum class Digest : std::uint8_t { not_needed, needed };

/// Opens the library once and reads all facts from that descriptor. What goes wrong is a fact, too.
[[nodiscard]] judge::ShimFacts inspect_shim(System& system, const std::string& path, Digest digest,
                                            profile::TrustedFolders& trust);

/// What a published library of the same variables is called, by the SHA-256 of the whole file (its
/// release's SHA256SUMS); empty: it is none of them.
[[nodiscard]] std::string_view published_shim(std::string_view sha256);

/// True if the file is a Metal shim: `own` itself (device and inode), one that carries the marker,
/// or a published one.
[[nodiscard]] bool is_known_shim(System& system, const std::string& path, const FileStatus* own);

} // namespace metalrun::target
