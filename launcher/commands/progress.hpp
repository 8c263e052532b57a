// SPDX-License-Identifier: MIT
//
// How far a long command is: one line on standard error, written anew, and nothing where that is no
// terminal.
#pragma once

#include "commands/session.hpp"

#include <cstdint>
#include <string_view>

namespace metalrun::commands {

enum class Hush : std::uint8_t { no, yes };

class ProgressLine {
public:
    ProgressLine(const Session& session, Hush hush);
    ~ProgressLine(); ///< erases the line
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// "WHAT: COUNT"; only some of the counts are shown.
    void show(std::string_view what, std::uint64_t count);

private:
    const Session& session_;
    bool is_shown_; ///< there is a terminal
    bool is_dirty_ = false;
};

} // namespace metalrun::commands
