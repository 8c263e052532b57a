// SPDX-License-Identifier: MIT
//
// Who may write to what we believe (metalrun.toml(5), SECURITY). Users and groups are compared by
// number only: looking up a name would load the name service into every start.
#include "profile/trust.hpp"

#include "report/text.hpp"
#include "system/platform.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace metalrun::profile {

namespace {

constexpr std::uint32_t kGroupWrites = 020;
constexpr std::uint32_t kEveryoneWrites = 02;
constexpr std::uint32_t kSticky = 01000;

// Homebrew's folders are writable by the group admin of macOS.
constexpr bool kAdminsAreTrusted = kIsMacOs;
constexpr std::uint32_t kAdminGroup = 80;

struct Fault {
    std::string message;
    std::string help;
};

bool is_trusted_group(const FileStatus& status) {
    // A user's own group has the user's number wherever groups are made per user.
    return status.group == 0 || status.group == status.owner ||
           (kAdminsAreTrusted && status.group == kAdminGroup);
}

// In a sticky folder only the owner of an entry can rename or remove it.
bool is_sticky_folder(const FileStatus& status) {
    return status.kind == FileKind::directory && (status.mode & kSticky) != 0;
}

Fault write_fault(const std::string& path, const FileStatus& status) {
    const std::string shown = text::quote(path);
    if ((status.mode & kEveryoneWrites) != 0) {
        return {.message =
                    text::format("{} can be written by everyone (mode {:04o})", shown, status.mode),
                .help = text::format("chmod o-w {}", shown)};
    }
    return {.message = text::format("{} can be written by group {} (mode {:04o}), which is not the "
                                    "own group of its owner {}",
                                    shown, status.group, status.mode, status.owner),
            .help = text::format("chmod g-w {}", shown)};
}

bool others_can_write(const FileStatus& status) {
    if (is_sticky_folder(status)) {
        return false;
    }
    return (status.mode & kEveryoneWrites) != 0 ||
           ((status.mode & kGroupWrites) != 0 && !is_trusted_group(status));
}

std::string_view parent_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

} // namespace

TrustedFolders::TrustedFolders(System& system, std::uint32_t metalrun_owner)
    : system_(system), metalrun_owner_(metalrun_owner) {}

Result<void> TrustedFolders::check(const std::string& real_path, const FileStatus& status,
                                   Errc code) {
    const std::uint32_t user = system_.identity().user;
    const auto judge = [&](const std::string& path, const FileStatus& seen) -> Result<void> {
        if (seen.owner != 0 && seen.owner != user && seen.owner != metalrun_owner_) {
            return fail({.code = code,
                         .message = text::format(
                             "{} belongs to user {}, who is neither root, the user {} nor the "
                             "owner {} of metalrun",
                             text::quote(path), seen.owner, user, metalrun_owner_),
                         .help = text::format("chown {} {}", user, text::quote(path))});
        }
        if (others_can_write(seen)) {
            Fault fault = write_fault(path, seen);
            return fail(
                {.code = code, .message = std::move(fault.message), .help = std::move(fault.help)});
        }
        return {};
    };

    if (Result<void> file = judge(real_path, status); !file) {
        return file;
    }
    std::vector<std::string> seen;
    std::string_view folder = real_path;
    while (folder.size() > 1 && folder.starts_with('/')) {
        folder = parent_of(folder);
        if (std::ranges::find(trusted_, folder) != trusted_.end()) {
            break;
        }
        const std::string path(folder);
        const SysResult<FileStatus> found = system_.lstat(path);
        if (!found) {
            return fail({.code = code,
                         .message = text::format("cannot look at {}: {}", text::quote(path),
                                                 text::error_text(found.error()))});
        }
        if (Result<void> judged = judge(path, *found); !judged) {
            return judged;
        }
        seen.push_back(path);
    }
    trusted_.insert(trusted_.end(), seen.begin(), seen.end());
    return {};
}

} // namespace metalrun::profile
