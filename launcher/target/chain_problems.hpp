// SPDX-License-Identifier: MIT
//
// Why there is no image at the end of the way: the messages of target/chain.cpp.
#pragma once

#include "judge/finding.hpp"
#include "target/chain.hpp"
#include "target/script.hpp"

#include <cstddef>
#include <string>

namespace metalrun::target {

/// Looks into the folders that an ssh session or a launchd job has not in its PATH.
[[nodiscard]] judge::Finding not_in_path(System& system, const std::string& name,
                                         const SearchPath& search);

/// It is there, but not a file that this user may execute.
[[nodiscard]] judge::Finding not_executable(const std::string& path, const FileStatus& status);

/// `number` is errno of stat(2) or open(2).
[[nodiscard]] judge::Finding cannot_reach(const std::string& path, int number);

/// The kernel runs what this user may not read; only a judgement is impossible.
[[nodiscard]] judge::Finding only_executable(const std::string& path);

/// `number` is errno of the interpreter's stat(2). Looks whether a path with blanks was meant.
[[nodiscard]] judge::Finding missing_interpreter(System& system, const std::string& script,
                                                 const InterpreterLine& line, int number);

/// Neither a program of a known kind nor a script; `first` are its first bytes.
[[nodiscard]] judge::Finding not_a_program(const std::string& path, const FileStatus& status,
                                           Bytes first);

/// `search` is where env would have searched.
[[nodiscard]] judge::Finding
no_program_for_env(const std::string& script, const std::string& program, const SearchPath& search);

/// More than `most` scripts, each the interpreter of the one before.
[[nodiscard]] judge::Finding too_many_scripts(const Chain& chain, std::size_t most);

/// env leads back to a script that was passed already, or from one script to the next for long.
[[nodiscard]] judge::Finding leads_in_circles(const Chain& chain, const std::string& script);

} // namespace metalrun::target
