// SPDX-License-Identifier: MIT
//
// `metalrun profile list|show|lint`.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

[[nodiscard]] Result<ExitStatus> profile_command(const Session& session,
                                                 const cli::Request& request);

} // namespace metalrun::commands
