// SPDX-License-Identifier: MIT
//
// The answer given before the start: a decision, the predicted outcome if the library were inserted
// by hand, and every finding.
#pragma once

#include "judge/finding.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::judge {

enum class Decision : std::uint8_t { inject, stock, refuse };

[[nodiscard]] std::string_view to_string(Decision decision);
[[nodiscard]] std::string_view to_string(Outcome outcome);

struct Verdict {
    Decision decision = Decision::refuse;
    Outcome outcome = Outcome::uncertain;
    std::optional<Outcome> worst;
    std::optional<FindingId> reason; ///< the finding that decided; absent for inject
    std::vector<Finding> findings;   ///< all of them, in the order of the decision

    /// The finding that decided, or nothing.
    [[nodiscard]] const Finding* deciding() const {
        for (const Finding& finding : findings) {
            if (reason && finding.id == *reason) {
                return &finding;
            }
        }
        return nullptr;
    }
};

} // namespace metalrun::judge
