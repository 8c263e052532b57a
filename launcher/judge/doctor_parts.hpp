// SPDX-License-Identifier: MIT
//
// What the files of the doctor's rules share.
#pragma once

#include "judge/doctor_rules.hpp"
#include "judge/rules.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace metalrun::doctor {

using Findings = std::vector<Finding>;

/// The command in an error's help, if it can be pasted into a shell as it is: text::quote() puts a
/// backslash before what a shell would read otherwise. Else empty.
[[nodiscard]] std::string pasteable(const std::string& help);

/// Asks rules of the judge about this host, and about one library.
class Asker {
public:
    explicit Asker(const Facts& facts, const judge::ShimFacts* shim = nullptr)
        : question_{.chain = chain_, .shim = shim, .host = facts.host, .plan = plan_} {
        plan_.shim.origin = launch::kBuiltInDefault;
        if (shim != nullptr) {
            plan_.shim.value = shim->path;
        }
    }
    /// Never moved: the question refers to the members below.
    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;
    Asker(Asker&&) = delete;
    Asker& operator=(Asker&&) = delete;
    ~Asker() = default;

    [[nodiscard]] std::optional<Finding> ask(judge::Rule rule) const {
        auto found = rule(question_);
        if (!found) {
            return std::nullopt;
        }
        return Finding{.id = std::string(judge::to_string(found->id)),
                       .severity = found->severity,
                       .message = std::move(found->message),
                       .facts = std::move(found->facts),
                       .help = std::move(found->help)};
    }

private:
    target::Chain chain_;
    launch::Plan plan_;
    judge::Question question_;
};

/// The installed libraries (doctor_shim_rules.cpp).
void shims(const Facts& facts, Findings& into);

/// Variables, files and links of the session (doctor_session_rules.cpp).
void session(const Facts& facts, Findings& into);

} // namespace metalrun::doctor
