// SPDX-License-Identifier: MIT
//
// `metalrun probe`: asks the Metal device stock and shimmed, and compares.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

/// Status 0 if the answers are what the profile says (--stock: if nothing under-reports), else 1.
[[nodiscard]] Result<ExitStatus> probe(const Session& session, const cli::Request& request);

} // namespace metalrun::commands
