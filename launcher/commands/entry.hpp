// SPDX-License-Identifier: MIT
//
// What argv does not say plainly: a link that bears the target's name, the `#!` line of a script,
// and a target that is a launcher script.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"
#include "target/chain.hpp"

#include <expected>
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

/// A script whose `#!` line leads to metalrun, and the profile that it is.
struct LauncherScript {
    target::Link script;
    profile::Profile profile; ///< with a target.program
};

/// The script of the chain whose `#!` line leads back to metalrun, or null:
/// target::find_way_back(), and by its name where the file behind it is that of another machine.
[[nodiscard]] const target::Link* find_way_back(const Session& session, const target::Chain& chain,
                                                const target::SearchPath& search);

/// The launcher script that `chain` goes through, or nothing if it does not lead back to metalrun.
/// If it does, but is no profile with a target.program, that becomes the chain's problem.
[[nodiscard]] std::optional<LauncherScript> find_launcher_script(const Session& session,
                                                                 target::Chain& chain,
                                                                 const target::SearchPath& search,
                                                                 profile::Catalogue& catalogue);

/// Makes it the chain's problem that a launcher script, here `script`, is entered from another one.
void refuse_script_in_script(target::Chain& chain, const target::Link& script);

/// The request to start what the script names: its target and arguments in place of the script, and
/// argv0 and the folder unless the command line gives others.
[[nodiscard]] cli::Request enter(const LauncherScript& script, cli::Request request);

/// The profile that a start through the script has: `named` if it comes from the command line, else
/// the script itself.
[[nodiscard]] std::optional<profile::Chosen> profile_of(LauncherScript script,
                                                        std::optional<profile::Chosen> named);

} // namespace metalrun::commands
