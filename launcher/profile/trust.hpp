// SPDX-License-Identifier: MIT
//
// Who may write to what we believe: the rule for profiles and for the shim (metalrun.toml(5),
// SECURITY). Judged on the status of the descriptor that is read, and on every folder above the
// file's real path.
#pragma once

#include "result.hpp"
#include "system/system.hpp"

#include <string>
#include <vector>

namespace metalrun::profile {

/// Remembers the folders already judged, so that a start looks at each only once.
class TrustedFolders {
public:
    TrustedFolders(System& system, std::uint32_t metalrun_owner);

    /// Refuses a file that everyone may write, or that belongs to another than root, the user or
    /// the owner of the running metalrun; likewise every folder above `real_path` (a sticky folder
    /// that everyone may write is accepted). Group write is accepted for gid 0, on macOS also gid
    /// 80, or a gid equal to the owner's uid. The error (`code`) names the file or folder, what is
    /// wrong with it in numbers, and the chmod or chown that mends it.
    [[nodiscard]] Result<void> check(const std::string& real_path, const FileStatus& status,
                                     Errc code);

private:
    System& system_;
    std::uint32_t metalrun_owner_;
    std::vector<std::string> trusted_;
};

} // namespace metalrun::profile
