// SPDX-License-Identifier: MIT
#include "profile/match.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <fnmatch.h>

namespace metalrun::profile {

namespace {

constexpr std::size_t kMostLeadingArguments = 8;

LeadingRuns leading_runs(std::string_view program, std::span<const std::string> arguments) {
    LeadingRuns runs;
    runs.text = program;
    for (const std::string& argument :
         arguments.first(std::min(arguments.size(), kMostLeadingArguments))) {
        runs.text += runs.text.empty() ? "" : " ";
        runs.text += argument;
        runs.ends.push_back(runs.text.size());
    }
    return runs;
}

// A pattern is never empty (loader.cpp). Most differ in the first letter; most others are a name,
// or a name with one '*' at its end; fnmatch(3) is for the rest.
bool fits(std::string_view pattern, std::string_view word) {
    constexpr std::string_view kSpecialCharacters = "*?[\\";
    const bool plain_start = kSpecialCharacters.find(pattern.front()) == std::string_view::npos;
    if (plain_start && (word.empty() || word.front() != pattern.front())) {
        return false;
    }
    const std::size_t special = pattern.find_first_of(kSpecialCharacters);
    if (special == std::string_view::npos) {
        return pattern == word;
    }
    if (!word.starts_with(pattern.substr(0, special))) {
        return false;
    }
    if (special + 1 == pattern.size() && pattern[special] == '*') {
        return true;
    }
    return ::fnmatch(std::string(pattern).c_str(), std::string(word).c_str(), 0) == 0;
}

/// A pattern, and the first word that it fits.
struct Fit {
    std::string_view pattern;
    std::string_view word;
};

template <class Patterns>
std::optional<Fit> find_fit(const Patterns& patterns, std::span<const std::string> words) {
    for (const std::string_view pattern : patterns) {
        const auto word =
            std::ranges::find_if(words, [&](const std::string& w) { return fits(pattern, w); });
        if (word != words.end()) {
            return Fit{.pattern = pattern, .word = *word};
        }
    }
    return std::nullopt;
}

template <class Patterns>
std::optional<Fit> find_fit(const Patterns& patterns, const std::vector<LeadingRuns>& arguments) {
    for (const std::string_view pattern : patterns) {
        for (const LeadingRuns& runs : arguments) {
            for (const std::size_t end : runs.ends) {
                const std::string_view run = std::string_view(runs.text).substr(0, end);
                if (fits(pattern, run)) {
                    return Fit{.pattern = pattern, .word = run};
                }
            }
        }
    }
    return std::nullopt;
}

template <class Patterns> struct Matcher {
    const Patterns& programs;
    const Patterns& arguments;
    const Patterns& libraries;
    bool is_unsafe;
};

Matcher<std::vector<std::string>> matcher_of(const Profile& profile) {
    return {.programs = profile.match.programs,
            .arguments = profile.match.arguments,
            .libraries = profile.match.libraries,
            .is_unsafe = profile.workload.status == WorkloadStatus::unsafe};
}

Matcher<std::span<const std::string_view>> matcher_of(const BuiltIn& built_in) {
    return {.programs = built_in.match_programs,
            .arguments = built_in.match_arguments,
            .libraries = built_in.match_libraries,
            .is_unsafe = built_in.status == WorkloadStatus::unsafe};
}

/// A fit, and the kind of pattern it is: its rank, and its key.
struct KindOfFit {
    Fit fit;
    unsigned rank = 0; ///< of the kinds
    std::string_view key;
};

template <class Patterns>
std::optional<KindOfFit> best_fit(const Matcher<Patterns>& match, const Candidates& candidates) {
    if (const auto fit = find_fit(match.arguments, candidates.arguments)) {
        return KindOfFit{.fit = *fit, .rank = 3, .key = "arguments"};
    }
    if (const auto fit = find_fit(match.libraries, candidates.libraries)) {
        return KindOfFit{.fit = *fit, .rank = 2, .key = "libraries"};
    }
    if (const auto fit = find_fit(match.programs, candidates.programs)) {
        return KindOfFit{.fit = *fit, .rank = 1, .key = "programs"};
    }
    return std::nullopt;
}

template <class Patterns>
unsigned rank_of_match(const Matcher<Patterns>& match, const Candidates& candidates) {
    const auto best = best_fit(match, candidates);
    return best ? 2 * best->rank + (match.is_unsafe ? 1 : 0) : 0;
}

template <class Patterns>
Choice choice_of_match(const Matcher<Patterns>& match, const Candidates& candidates) {
    const auto best = best_fit(match, candidates);
    if (!best) {
        return {};
    }
    return {.by = Choice::By::match,
            .key = std::string(best->key),
            .pattern = std::string(best->fit.pattern),
            .subject = std::string(best->fit.word)};
}

} // namespace

Candidates candidates_of(const Subject& subject) {
    Candidates candidates{
        .programs = subject.program_names, .libraries = subject.libraries, .arguments = {}};
    if (!subject.arguments.empty()) {
        candidates.arguments.reserve(1 + subject.program_names.size());
        candidates.arguments.push_back(leading_runs("", subject.arguments));
        for (const std::string& program : subject.program_names) {
            candidates.arguments.push_back(leading_runs(program, subject.arguments));
        }
    }
    return candidates;
}

unsigned rank_of(const Profile& profile, const Candidates& candidates) {
    return rank_of_match(matcher_of(profile), candidates);
}

unsigned rank_of(const BuiltIn& built_in, const Candidates& candidates) {
    return rank_of_match(matcher_of(built_in), candidates);
}

Choice choice_of(const Profile& profile, const Candidates& candidates) {
    return choice_of_match(matcher_of(profile), candidates);
}

Choice choice_of(const BuiltIn& built_in, const Candidates& candidates) {
    return choice_of_match(matcher_of(built_in), candidates);
}

} // namespace metalrun::profile
