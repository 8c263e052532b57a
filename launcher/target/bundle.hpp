// SPDX-License-Identifier: MIT
//
// Bundles: folders that stand for the program inside (Bundle Programming Guide; CFBundle of
// CoreFoundation). `Contents/Info.plist` names the main executable of `Contents/MacOS`; a bundle
// made for iOS has both in the bundle's folder itself.
#pragma once

#include "judge/finding.hpp"
#include "system/system.hpp"

#include <expected>
#include <string>

namespace metalrun::target {

/// True if the path is a folder whose name says that it is a bundle with a program in it: .app,
/// .appex or .xpc.
[[nodiscard]] bool is_bundle(System& system, const std::string& path);

/// The path of the main executable: the one that an XML Info.plist names, else (Info.plist is
/// binary, damaged or missing) the one that bears the bundle's name, else the only file there.
/// Errors: there is no such file, or Info.plist names one outside the bundle.
[[nodiscard]] std::expected<std::string, judge::Finding>
find_bundle_executable(System& system, const std::string& bundle);

} // namespace metalrun::target
