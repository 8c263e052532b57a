// SPDX-License-Identifier: MIT
//
// The targets of `check` on a terminal: a line each.
#pragma once

#include "report/check_report.hpp"

#include <string>

namespace metalrun::report {

/// Path, decision, outcome and reason in columns; paths are cut in the middle where they would make
/// a line longer than `columns`.
[[nodiscard]] std::string render_table(const CheckReport& report, std::size_t columns,
                                       Colour colour);

} // namespace metalrun::report
