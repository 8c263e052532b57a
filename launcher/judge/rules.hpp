// SPDX-License-Identifier: MIT
//
// The rules, one function per finding id: a question to a finding, or nothing.
#pragma once

#include "judge/judge.hpp"

#include <optional>
#include <span>

namespace metalrun::judge {

using Rule = std::optional<Finding> (*)(const Question&);

/// In the order of the decision: the first that decides is the one a user must act on first.
[[nodiscard]] std::span<const Rule> rules();

} // namespace metalrun::judge
