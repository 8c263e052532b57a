// SPDX-License-Identifier: MIT
//
// The receipt: a file that names the process before exec, to which the shim appends what happened
// (metalrun(1), FILES). Nothing ever waits on it, and failing to write it never stops a start.
#pragma once

#include "judge/verdict.hpp"
#include "launch/plan.hpp"
#include "system/system.hpp"
#include "target/chain.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace metalrun::launch {

/// The folder for receipts: $METALRUN_STATE_DIR, else `metalrun` in the system's folder for the
/// user's caches (System::user_cache_folder; macOS), else $XDG_RUNTIME_DIR/metalrun, else
/// ~/.local/state/metalrun; relative values are ignored. Nothing if none of them is set.
[[nodiscard]] std::optional<std::string> find_state_folder(std::span<const std::string> environment,
                                                           std::string_view user_cache_folder);

enum class FolderFault : std::uint8_t { not_a_folder, of_another, open_to_others };

/// In words, such as "it belongs to another user".
[[nodiscard]] std::string_view to_string(FolderFault fault);

/// Why the folder is not used; nothing if it is: a folder (not a link) of this user that no one
/// else may write. `status` is lstat's or an open folder's.
[[nodiscard]] std::optional<FolderFault> find_folder_fault(const FileStatus& status,
                                                           std::uint32_t user);

/// Makes the folder with mode 0700 if it is not there (and, for the last choice, the folders above
/// it), and checks it by lstat (find_folder_fault).
[[nodiscard]] bool ensure_state_folder(System& system, const std::string& folder);

struct ReceiptFacts {
    int process_id = 0;
    std::uint64_t start_time = 0; ///< System::process_start_time
    const target::Chain* chain = nullptr;
    const Plan* plan = nullptr;
    const judge::Verdict* verdict = nullptr;
    std::string library; ///< empty unless the decision is inject
    std::string version;
};

/// The receipt's first part, TOML.
[[nodiscard]] std::string render_receipt(const ReceiptFacts& facts);

/// Writes `<folder>/<pid>.toml` (0600, new). A stale file of an earlier process with this number is
/// replaced. Returns its path, or nothing.
[[nodiscard]] std::optional<std::string> write_receipt(System& system, const std::string& folder,
                                                       int process_id, const std::string& content);

} // namespace metalrun::launch
