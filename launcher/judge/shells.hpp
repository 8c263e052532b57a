// SPDX-License-Identifier: MIT
//
// Shells, and what tells a session for people from work: the options of bash(1), zsh(1), dash(1),
// ksh(1), tcsh(1), fish(1), nu, xonsh and PowerShell (about_Pwsh).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace metalrun::judge {

/// True if this is the base name of a shell; also as login(1) calls it, "-zsh".
[[nodiscard]] bool is_shell(std::string_view name);

/// True if this program keeps a session of shells open for others: login, su, tmux and their like.
[[nodiscard]] bool opens_session(std::string_view name);

/// True if a shell of this name ends by itself with these arguments (behind argv[0]), because they
/// give it commands: `-c`, also in `-lc` and with `-i`; a script; `-s` for what stands on standard
/// input. Without any of those somebody is expected to type.
[[nodiscard]] bool has_commands(std::string_view shell, std::span<const std::string> arguments);

} // namespace metalrun::judge
