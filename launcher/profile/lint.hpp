// SPDX-License-Identifier: MIT
//
// What is wrong with a profile as a file (metalrun(1), `profile lint`): what the loader refuses,
// and what the kernels make of its first line when it is started as a launcher script. Linux:
// fs/binfmt_script.c; macOS: xnu bsd/kern/kern_exec.c exec_shell_imgact.
#pragma once

#include "judge/finding.hpp"
#include "profile/toml.hpp"
#include "profile/trust.hpp"
#include "result.hpp"
#include "system/system.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace metalrun::profile {

/// One thing that should be mended.
struct Flaw {
    std::string_view id; ///< stable, such as "byte-order-mark"
    judge::Severity severity = judge::Severity::warning;
    toml::Position at;   ///< line 0: the file as a whole
    std::string message; ///< one sentence in lower case, without a final period, without the place
    std::string help;    ///< one action; empty only for what the loader refuses
};

/// "FILE:LINE:COLUMN: message", or "FILE: message".
[[nodiscard]] std::string with_place(const Flaw& flaw, const std::string& path);

/// The flaws of a text, in the order of their places. A script of another language, whose first
/// line hands a program to metalrun behind `--`, is no profile: only that line is looked at.
/// `folder` as for parse_profile().
[[nodiscard]] std::vector<Flaw> lint_text(std::string_view text, const std::string& path,
                                          const std::string& folder);

/// The same, then those of the file itself: its run bit, and who may write to it. `path` is a file
/// and never searched. Errors: the file cannot be read (Errc::profile).
[[nodiscard]] Result<std::vector<Flaw>> lint(System& system, const std::string& path,
                                             TrustedFolders& trust);

} // namespace metalrun::profile
