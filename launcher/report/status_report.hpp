// SPDX-License-Identifier: MIT
//
// What `status` has to say, as values; status_text.cpp and status_json.cpp say it.
#pragma once

#include "launch/receipt_state.hpp"
#include "report/check_report.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace metalrun::report {

/// A live process that metalrun started.
struct StatusEntry {
    launch::Receipt receipt;
    launch::Judgement judgement;
    std::vector<launch::Child> children; ///< those that are alive
    std::size_t ended_children = 0;      ///< those that told something and are gone
};

/// A file in the place of a receipt that is not taken for one.
struct IgnoredReceipt {
    std::string path;
    std::string problem;
};

struct StatusReport {
    std::string version;
    std::string folder;               ///< the state folder
    std::vector<StatusEntry> entries; ///< by process number
    std::vector<IgnoredReceipt> ignored;
    std::size_t cleared = 0; ///< receipts of processes that are gone, removed
};

/// One line a process, its children below it; a table on a terminal.
[[nodiscard]] std::string render_status(const StatusReport& report, const OutputStyle& style);

/// One document (metalrun(1), status).
[[nodiscard]] std::string render_status_json(const StatusReport& report);

} // namespace metalrun::report
