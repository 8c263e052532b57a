// SPDX-License-Identifier: MIT
//
// `metalrun status`: what became of the processes that metalrun started (metalrun(1), status).
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"
#include "result.hpp"

namespace metalrun::commands {

/// Reads the receipts of live processes, says what became of each, and removes those of processes
/// that are gone. Status 1 if a process is not as predicted, or the one asked for has no receipt.
[[nodiscard]] Result<ExitStatus> status(const Session& session, const cli::Request& request);

} // namespace metalrun::commands
