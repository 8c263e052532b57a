// SPDX-License-Identifier: MIT
//
// What the kernel's texts say of a process: /proc/PID/stat, status and maps (proc(5)), and the
// search for one file among those that a process has mapped, which macOS answers region by region.
#pragma once

#include "system/system.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace metalrun {

/// The fields of /proc/PID/stat that matter here.
struct ProcStat {
    char state = 0;           ///< R, S, D, Z, T, t, X …
    std::int64_t threads = 0; ///< a leader that ended before its threads is in state Z, too
    std::uint64_t start_time = 0;
};

/// The command name in it may hold anything, so what counts is behind its last ')'.
[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view text);

/// The effective user of /proc/PID/status. The owner of the folder would be root for a process that
/// cannot be dumped.
[[nodiscard]] std::optional<std::uint32_t> parse_proc_user(std::string_view text);

/// Looks at each mapping of a process for one file.
class MappingSearch {
public:
    explicit MappingSearch(const MappedFile& wanted);

    /// A mapping of this file. Either is enough: file systems in layers name another device here
    /// than stat(2) does, and a file that was replaced has another inode under its old name.
    void see(std::string_view path, FileIdentity identity);
    /// A line of /proc/PID/maps, without its end.
    void see_line(std::string_view line);

    /// Unknown if no mapping was seen, or only a file of that name in another place, which may be
    /// the same library after an upgrade.
    [[nodiscard]] Tri answer() const;

private:
    MappedFile wanted_;
    std::string name_; ///< base name
    bool saw_any_ = false;
    bool saw_name_ = false;
    bool saw_file_ = false;
};

} // namespace metalrun
