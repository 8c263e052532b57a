// SPDX-License-Identifier: MIT
//
// `metalrun doctor`: looks at this machine, its session and what is installed, and says what needs
// mending. It changes nothing.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

/// Status 0 if nothing needs mending, 1 if something does (an error or a warning).
[[nodiscard]] Result<ExitStatus> doctor(const Session& session, const cli::Request& request);

} // namespace metalrun::commands
