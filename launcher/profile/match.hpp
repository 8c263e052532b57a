// SPDX-License-Identifier: MIT
//
// How well a [match] fits a target (metalrun.toml(5), table match).
#pragma once

#include "profile/catalogue.hpp"

#include <string>
#include <vector>

namespace metalrun::profile {

/// The first argument, the first two, … as prefixes of one text.
struct LeadingRuns {
    std::string text;
    std::vector<std::size_t> ends;
};

/// A subject as the patterns are compared with it. It must not outlive the subject.
struct Candidates {
    const std::vector<std::string>& programs;
    const std::vector<std::string>& libraries;
    std::vector<LeadingRuns> arguments;
};

[[nodiscard]] Candidates candidates_of(const Subject& subject);

/// 0: does not fit. The more specific kind of pattern counts first, unsafe second.
[[nodiscard]] unsigned rank_of(const Profile& profile, const Candidates& candidates);
[[nodiscard]] unsigned rank_of(const BuiltIn& built_in, const Candidates& candidates);

/// What of the [match] fits, if anything does; else the choice of a fallback.
[[nodiscard]] Choice choice_of(const Profile& profile, const Candidates& candidates);
[[nodiscard]] Choice choice_of(const BuiltIn& built_in, const Candidates& candidates);

} // namespace metalrun::profile
