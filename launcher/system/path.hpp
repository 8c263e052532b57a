// SPDX-License-Identifier: MIT
//
// Paths as text. Nothing here asks the system.
#pragma once

#include <string>
#include <string_view>

namespace metalrun {

/// `path` below the absolute `folder`, or itself if it is absolute; without `.` parts and repeated
/// slashes. `..` stays: what it means depends on symbolic links.
[[nodiscard]] inline std::string absolute_path(std::string_view folder, std::string_view path) {
    std::string out;
    const auto append = [&](std::string_view parts) {
        while (!parts.empty()) {
            const std::string_view part = parts.substr(0, parts.find('/'));
            parts.remove_prefix(part.size());
            parts.remove_prefix(parts.empty() ? 0 : 1);
            if (!part.empty() && part != ".") {
                out += '/';
                out += part;
            }
        }
    };
    if (!path.starts_with('/')) {
        append(folder);
    }
    append(path);
    return out.empty() ? "/" : out;
}

} // namespace metalrun
