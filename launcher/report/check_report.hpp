// SPDX-License-Identifier: MIT
//
// What `metalrun check` found, for people and as one JSON document (metalrun(1), check). Readers of
// the JSON must ignore members that they do not know.
#pragma once

#include "judge/judge.hpp"
#include "report/diagnostic.hpp"

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
    std::string running_slice; ///< name, or empty
};

struct CheckReport {
    HostFacts host;
    std::string version;
    std::vector<std::string> assumptions; ///< sentences
    std::vector<CheckedTarget> targets;
};

[[nodiscard]] std::string render_check(const CheckReport& report, Colour colour);
[[nodiscard]] std::string render_check_json(const CheckReport& report);

} // namespace metalrun::report
