// SPDX-License-Identifier: MIT
//
// How a problem on the way to the image is begun: the target cannot start.
#pragma once

#include "judge/finding.hpp"

#include <string>
#include <utility>
#include <vector>

namespace metalrun::target {

[[nodiscard]] inline judge::Finding problem(judge::FindingId id, std::string message,
                                            std::vector<std::string> facts, std::string help) {
    return {.id = id,
            .severity = judge::Severity::error,
            .step = judge::Step::launch,
            .outcome = judge::Outcome::no_start,
            .message = std::move(message),
            .facts = std::move(facts),
            .help = std::move(help)};
}

} // namespace metalrun::target
