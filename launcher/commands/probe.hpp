// SPDX-License-Identifier: MIT
//
// `metalrun probe`: asks the Metal device stock and shimmed, and compares.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"
#include "report/json.hpp"

namespace metalrun::commands {

/// Status 0 if the answers are what the profile says (--stock: if nothing under-reports), else 1.
[[nodiscard]] Result<ExitStatus> probe(const Session& session, const cli::Request& request);

/// What the device answers a process without the shim. Errors: Errc::system.
[[nodiscard]] Result<report::DeviceAnswers> ask_stock_device(const Session& session);

} // namespace metalrun::commands
