// SPDX-License-Identifier: MIT
//
// The file of a profile, from an open descriptor to its text.
#pragma once

#include "profile/trust.hpp"
#include "result.hpp"
#include "system/system.hpp"

#include <string>
#include <string_view>

namespace metalrun::profile {

/// What a profile's file name ends in.
inline constexpr std::string_view kProfileEnding = ".toml";

struct Document {
    std::string text;
    std::string real_path; ///< of the open file
};

/// The folder that a path lies in.
[[nodiscard]] std::string parent_of(std::string_view path);

/// "cannot VERB the profile 'PATH': REASON", Errc::profile.
[[nodiscard]] std::unexpected<Error> cannot(std::string_view verb, const std::string& path,
                                            const std::string& reason);

/// The same for a system call that failed with `number` (errno).
[[nodiscard]] std::unexpected<Error> cannot(std::string_view verb, const std::string& path,
                                            int number);

/// Refuses what is no regular file, and more than kLargestProfileFile bytes.
[[nodiscard]] Result<void> check_size(const FileStatus& status, const std::string& path);

/// All bytes of the file, at most as many as it had when it was opened.
[[nodiscard]] Result<std::string> read_all(const File& file, const std::string& path);

/// The text of a file that passes check_size() and that only trusted users may write.
[[nodiscard]] Result<Document> read_document(TrustedFolders& trust, const File& file,
                                             const std::string& path);

} // namespace metalrun::profile
