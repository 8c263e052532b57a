// SPDX-License-Identifier: MIT
//
// `metalrun check PATH...`: the verdict without the start.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

/// Status 0 if every decision is inject with a sure outcome, 1 if one is not inject, else 2.
[[nodiscard]] Result<ExitStatus> check(const Session& session, const cli::Request& request);

} // namespace metalrun::commands
