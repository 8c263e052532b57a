// SPDX-License-Identifier: MIT
//
// What `metalrun check` found, for people and as one JSON document (metalrun(1), check). Readers of
// the JSON must ignore members that they do not know.
#pragma once

#include "judge/judge.hpp"
#include "profile/profile.hpp"
#include "report/diagnostic.hpp"
#include "target/walk.hpp"

#include <optional>
#include <string>
#include <vector>

namespace metalrun::report {

/// One judged file.
struct CheckedTarget {
    target::Chain chain;
    judge::Verdict verdict;
    std::string library;  ///< that would be inserted; empty: none
    std::string children; ///< "stock" or "inherit"
    std::string profile;
    profile::Choice choice;    ///< why this profile
    std::string running_slice; ///< name, or empty
};

struct CheckReport {
    HostFacts host;
    std::string version;
    std::vector<std::string> assumptions; ///< sentences
    std::vector<CheckedTarget> targets;
    std::optional<target::Walk> walk; ///< absent: no folder was looked through
};

/// Where a report goes: a terminal gets a table of the targets, if there is more than one, and
/// explanations of those alone that are not injected for sure; everything else all of it.
struct OutputStyle {
    Colour colour = Colour::off;
    std::optional<std::size_t> columns; ///< of the terminal; absent: it is none
};

[[nodiscard]] std::string render_check(const CheckReport& report, const OutputStyle& style);
[[nodiscard]] std::string render_check_json(const CheckReport& report);

} // namespace metalrun::report
