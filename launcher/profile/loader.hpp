// SPDX-License-Identifier: MIT
//
// TOML text -> Profile, strict (metalrun.toml(5), schema 1). loader.cpp is a user of toml.hpp, the
// one file that includes toml++.
#pragma once

#include <string>
#include <string_view>

#include "profile/profile.hpp"
#include "result.hpp"

namespace metalrun::profile {

/// Largest profile that is read (bytes): no real one comes near it.
inline constexpr std::uint64_t kLargestProfileFile = 1U << 20;

/// Parses a whole profile. `origin` is the path that messages show and Profile::origin gets;
/// `folder` is the absolute folder against which relative paths in the profile are resolved.
/// Errors: Errc::profile, message "FILE:LINE:COLUMN: …", the nearest known key as help.
[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::string& origin,
                                            const std::string& folder);

} // namespace metalrun::profile
