// SPDX-License-Identifier: MIT
#pragma once

#include "system/system.hpp"

#include <span>
#include <string>

namespace metalrun {

/// The bytes that the file had when it was opened, or fewer if it has become shorter. The caller
/// has looked at FileStatus::kind and bounded FileStatus::size_bytes.
[[nodiscard]] inline SysResult<std::string> read_all(const File& file) {
    std::string content(file.status().size_bytes, '\0');
    std::size_t done = 0;
    while (done < content.size()) {
        const auto count =
            file.read_at(done, std::as_writable_bytes(std::span(content).subspan(done)));
        if (!count) {
            return std::unexpected(count.error());
        }
        if (*count == 0) {
            break;
        }
        done += *count;
    }
    content.resize(done);
    return content;
}

} // namespace metalrun
