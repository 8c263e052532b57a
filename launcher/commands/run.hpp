// SPDX-License-Identifier: MIT
//
// `metalrun [OPTION...] [--] TARGET [ARGUMENT...]`: becomes the target.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"

namespace metalrun::commands {

/// Does not come back when the target starts. Errors carry the status to end with.
[[nodiscard]] Result<ExitStatus> run(const Session& session, const cli::Request& request);

/// If argv[0] is a symbolic link to this executable under another base name: the request to run the
/// next program of that name in PATH that is not metalrun, with all arguments. Else nothing.
[[nodiscard]] std::optional<cli::Request> masquerade(const Session& session,
                                                     const std::vector<std::string>& argv);

} // namespace metalrun::commands
