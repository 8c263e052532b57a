// SPDX-License-Identifier: MIT
//
// The first line of a script. Linux: fs/binfmt_script.c (256 bytes, everything behind the
// interpreter is one argument). macOS: xnu bsd/kern/kern_exec.c exec_shell_imgact (512 bytes, the
// line ends at `#` too, every word is an argument).
#pragma once

#include "judge/finding.hpp"
#include "system/system.hpp"

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::target {

using Kernel = HostFacts::Kernel;

struct InterpreterLine {
    std::string interpreter;
    std::string rest = {}; ///< what follows it, without blanks at both ends
    bool has_carriage_return = false;
};

/// As many bytes as the more generous kernel reads.
inline constexpr std::size_t kLongestLine = 512;
/// Scripts in a row that a kernel runs, each the interpreter of the one before.
[[nodiscard]] constexpr std::size_t most_scripts(Kernel kernel) {
    return kernel == Kernel::darwin ? 1 : 5; // fs/exec.c: the sixth is refused
}

/// `first` are the first bytes of the file, up to kLongestLine, and begin with `#!`. `script` is
/// its path, for the message. Errors: the kernel finds no interpreter in it.
[[nodiscard]] std::expected<InterpreterLine, judge::Finding>
parse_interpreter_line(const std::string& script, Bytes first, Kernel kernel);

/// The arguments that the kernel hands to the interpreter in front of the script's path, of what
/// follows it in the line: every word on macOS, all of it as one on Linux.
[[nodiscard]] std::vector<std::string> line_words(std::string_view rest, Kernel kernel);

} // namespace metalrun::target
