// SPDX-License-Identifier: MIT
//
// The two ways to be started that argv does not say plainly: through a link that bears the target's
// name, and by the `#!` line of a script.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"
#include "target/chain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace metalrun::commands {

/// If argv[0] is a symbolic link to this executable under another base name: the request to run the
/// next program of that name in PATH that is not metalrun, with all arguments. Else nothing.
[[nodiscard]] std::optional<cli::Request> masquerade(const Session& session,
                                                     const std::vector<std::string>& argv);

/// True if what the chain starts is a metalrun (see system/marker.hpp) behind a link of another
/// name, which `masquerade` would take for the next program of that name.
[[nodiscard]] bool is_link_to_metalrun(System& system, const target::Chain& chain);

/// Linux passes everything behind the interpreter of a `#!` line as one argument: if argv[1] is
/// that of the script argv[2], its words take its place, as macOS does it. Else argv as it is.
[[nodiscard]] std::vector<std::string> split_interpreter_arguments(const Session& session,
                                                                   std::vector<std::string> argv);

} // namespace metalrun::commands
