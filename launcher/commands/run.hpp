// SPDX-License-Identifier: MIT
//
// `metalrun [OPTION...] [--] TARGET [ARGUMENT...]`: becomes the target.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

/// Does not come back when the target starts. Errors carry the status to end with.
[[nodiscard]] Result<ExitStatus> run(const Session& session, const cli::Request& request);

} // namespace metalrun::commands
