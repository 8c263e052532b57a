// SPDX-License-Identifier: MIT
#include "report/status_report.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace metalrun::report {

namespace {

using launch::Judgement;
using launch::ProcessState;

void add_answer(std::string& out, std::string_view what,
                const std::optional<launch::Answer>& answer, std::string_view unit) {
    if (answer) {
        out += text::format("{}{} {} -> {}{}", out.empty() ? "" : ", ", what, answer->stock,
                            answer->given, unit);
    }
}

// One clause: what the device answers, or why it is so.
std::string detail_of(const Judgement& judgement) {
    if (!judgement.device) {
        return text::escape(judgement.reason);
    }
    const launch::ReceiptEvent& device = *judgement.device;
    std::string answers;
    add_answer(answers, "Apple family", device.family, "");
    add_answer(answers, "threadgroup memory", device.threadgroup_memory, " bytes");
    add_answer(answers, "working set", device.working_set, " bytes");
    const std::string name = device.device.empty()
                                 ? text::concat("class ", text::quote(device.device_class))
                                 : text::quote(device.device);
    return answers.empty() ? name : text::concat(name, ": ", answers);
}

std::string render_line(std::string_view head, int process_id, const Judgement& judgement,
                        std::string_view what) {
    const std::string detail = detail_of(judgement);
    return text::format("{}{} {}{}{}{}\n", head, process_id, launch::to_string(judgement.state),
                        what, detail.empty() ? "" : "; ", detail);
}

std::string render_ended(std::size_t count) {
    return count == 0 ? std::string{}
                      : text::format("  {} more {} ended\n", count,
                                     count == 1 ? "child has" : "children have");
}

std::string render_lines(const StatusReport& report) {
    std::string out;
    for (const StatusEntry& entry : report.entries) {
        out += render_line("", entry.receipt.process_id, entry.judgement,
                           text::format(": {}, profile {}", text::quote(entry.receipt.target),
                                        text::escape(entry.receipt.profile)));
        for (const launch::Child& child : entry.children) {
            out += render_line("  child ", child.process_id, child.judgement, "");
        }
        out += render_ended(entry.ended_children);
    }
    return out;
}

enum Column : std::uint8_t { pid, state, profile, target, detail, column_count };

using Cells = std::array<std::string, column_count>;
using Widths = std::array<std::size_t, column_count>;

struct Row {
    Cells cells;
    ProcessState state = ProcessState::dead; ///< of the heading: never shown
};

constexpr std::string_view kGap = "  ";
constexpr std::size_t kNarrowestTarget = 12;

std::vector<Row> rows_of(const StatusReport& report) {
    std::vector<Row> rows{{.cells = {"PID", "STATE", "PROFILE", "TARGET", "DETAIL"}}};
    for (const StatusEntry& entry : report.entries) {
        rows.push_back({.cells = {std::to_string(entry.receipt.process_id),
                                  std::string(launch::to_string(entry.judgement.state)),
                                  text::escape(entry.receipt.profile),
                                  text::escape(entry.receipt.target), detail_of(entry.judgement)},
                        .state = entry.judgement.state});
        for (const launch::Child& child : entry.children) {
            rows.push_back({.cells = {text::format("  {}", child.process_id),
                                      std::string(launch::to_string(child.judgement.state)), "",
                                      "(child)", detail_of(child.judgement)},
                            .state = child.judgement.state});
        }
    }
    return rows;
}

// Long targets give way to what became of them.
Widths widths_of(const std::vector<Row>& rows, std::size_t columns) {
    Widths widths{};
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            widths.at(i) = std::max(widths.at(i), text::width(row.cells.at(i)));
        }
    }
    const auto room_beside = [&](std::size_t others) {
        const std::size_t taken = widths[pid] + widths[state] + widths[profile] + others +
                                  (column_count - 1) * kGap.size();
        return columns > taken ? columns - taken : 0;
    };
    widths[target] =
        std::min(widths[target], std::max(room_beside(widths[detail]), kNarrowestTarget));
    widths[detail] =
        std::min(widths[detail], std::max(room_beside(widths[target]), kNarrowestTarget));
    return widths;
}

std::string padded(const std::string& cell, std::size_t width) {
    const std::string shown = text::elide(cell, width);
    return shown + std::string(width - text::width(shown), ' ');
}

std::string_view colour_of(ProcessState state) {
    switch (state) {
    case ProcessState::active:
    case ProcessState::loaded:
        return "\033[32m";
    case ProcessState::stock_by_decision:
    case ProcessState::unconfirmed:
        return "\033[33m";
    case ProcessState::reexecuted:
    case ProcessState::stock_by_shim:
    case ProcessState::stripped:
        return "\033[31m";
    case ProcessState::dead:
        break;
    }
    return {};
}

std::string render_table(const StatusReport& report, std::size_t columns, Colour style) {
    const std::vector<Row> rows = rows_of(report);
    const Widths widths = widths_of(rows, columns);
    std::string out;
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            const std::string cell = padded(row.cells.at(i), widths.at(i));
            const std::string_view colour =
                i == state && style == Colour::on ? colour_of(row.state) : "";
            line += text::concat(i == 0 ? "" : kGap, colour, cell, colour.empty() ? "" : "\033[0m");
        }
        out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    std::size_t ended = 0;
    for (const StatusEntry& entry : report.entries) {
        ended += entry.ended_children;
    }
    return out + render_ended(ended);
}

} // namespace

std::string render_status(const StatusReport& report, const OutputStyle& style) {
    if (report.entries.empty()) {
        return text::format("no live process has a receipt in {}\n", text::quote(report.folder));
    }
    return style.columns ? render_table(report, *style.columns, style.colour)
                         : render_lines(report);
}

} // namespace metalrun::report
