// SPDX-License-Identifier: MIT
//
// A plan for people: `--dry-run`, `--verbose` and `profile show`.
#pragma once

#include "judge/verdict.hpp"
#include "launch/plan.hpp"
#include "system/system.hpp"
#include "target/chain.hpp"

#include <string>

namespace metalrun::report {

/// What a start would do: the decision, the effective values, the exact exec, and all findings.
[[nodiscard]] std::string render_plan(const launch::Plan& plan, const judge::Verdict& verdict,
                                      const target::Chain& chain, const ExecRequest& exec);

/// The lines that `-v` prints just before exec.
[[nodiscard]] std::string render_start(const launch::Plan& plan, const judge::Verdict& verdict,
                                       const ExecRequest& exec);

/// The effective values of a profile, each with its origin.
[[nodiscard]] std::string render_values(const launch::Plan& plan);

/// Why a profile was chosen, as a JSON object with "by" and what belongs to it.
[[nodiscard]] std::string render_choice_json(const profile::Choice& choice);

/// The same as render_values(), as one JSON object.
[[nodiscard]] std::string render_values_json(const launch::Plan& plan);

} // namespace metalrun::report
