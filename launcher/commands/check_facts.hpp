// SPDX-License-Identifier: MIT
//
// The machine that `check` judges Mach-O programs for.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

/// What --host-facts says; else, on a Mac, this machine; else the newest guest that the rules are
/// known for. Errors: Errc::usage.
[[nodiscard]] Result<HostFacts> facts_for_check(const Session& session,
                                                const cli::Request& request);

} // namespace metalrun::commands
