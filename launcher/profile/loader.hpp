// SPDX-License-Identifier: MIT
//
// TOML text -> Profile, strict (metalrun.toml(5), schema 1). loader.cpp is a user of toml.hpp, the
// one file that includes toml++.
#pragma once

#include "profile/profile.hpp"
#include "result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace metalrun::profile {

/// Largest profile that is read (bytes): no real one comes near it.
inline constexpr std::uint64_t kLargestProfileFile = 1U << 20;

/// Parses a whole profile. In shim.path, target.directory and a target.program that has a slash, a
/// relative path is resolved against `folder`; a target.program without one is left for the search
/// in PATH. `origin` is the path that messages show and Profile::origin gets;
/// `folder` is the absolute folder against which relative paths in the profile are resolved.
/// Errors: Errc::profile, message "FILE:LINE:COLUMN: …", the nearest known key as help.
[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::string& origin,
                                            const std::string& folder);

/// The dotted path of every key of schema 1, tables included ("metal", "metal.apple_family", …), in
/// the order of metalrun.toml(5). Tests hold the manual page and the JSON Schema against it.
[[nodiscard]] std::span<const std::string_view> known_keys();

} // namespace metalrun::profile
