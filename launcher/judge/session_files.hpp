// SPDX-License-Identifier: MIT
//
// What the files of a login session set for every program: start-up files of shells (sh(1), zsh(1),
// fish(1), csh(1)) and property lists of launchd (launchd.plist(5)). Read as text, never run.
#pragma once

#include "system/system.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::doctor {

/// True for the names that decide what is inserted into programs, or look as if they did: DYLD_*,
/// LD_PRELOAD and LUME_METAL_*.
[[nodiscard]] bool is_watched_variable(std::string_view name);

enum class SetBy : std::uint8_t {
    exported,  ///< every program that the shell starts gets it
    assigned,  ///< a variable of the shell, which programs do not see
    launchctl, ///< `launchctl setenv`: every program of the login session gets it
};

/// One line of a shell's file that sets a watched variable to something.
struct SetLine {
    std::size_t line = 0; ///< from 1
    std::string name;
    SetBy by = SetBy::exported;
    bool continued = false; ///< the statement goes on in, or comes from, another line

    bool operator==(const SetLine&) const = default;
};

/// More lines of one file are not reported.
inline constexpr std::size_t kMostSetLines = 100;

/// A simple reader, line by line: words, quotes, comments, and what parts statements. It knows
/// `export`, `typeset -x`, `declare -x`, `set -gx`, `setenv`, `launchctl setenv` and plain
/// assignments; conditions are not evaluated, and functions and here-documents count as any line.
[[nodiscard]] std::vector<SetLine> scan_shell_file(std::string_view text);

/// What a job of launchd sets.
struct LaunchJob {
    std::string label;
    std::vector<std::string> own;     ///< watched variables of the job's own environment
    std::vector<std::string> session; ///< those that its program sets with `launchctl setenv`

    bool operator==(const LaunchJob&) const = default;
};

/// Errors: why the list could not be read, one clause (a binary property list is one).
[[nodiscard]] std::expected<LaunchJob, std::string> read_launch_job(Bytes content);

} // namespace metalrun::doctor
