// SPDX-License-Identifier: MIT
#include "report/check_table.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace metalrun::report {

namespace {

enum Column : std::uint8_t { path, decision, outcome, reason, column_count };

using Row = std::array<std::string, column_count>;
using Widths = std::array<std::size_t, column_count>;

constexpr std::string_view kGap = "  ";
constexpr std::size_t kNarrowestPath = 16;

Row row_of(const CheckedTarget& target) {
    const judge::Verdict& verdict = target.verdict;
    return {text::escape(target.chain.typed), std::string(judge::to_string(verdict.decision)),
            std::string(judge::to_string(verdict.outcome)),
            verdict.reason ? std::string(judge::to_string(*verdict.reason)) : "-"};
}

Widths widths_of(const std::vector<Row>& rows, std::size_t columns) {
    Widths widths{};
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths.at(i) = std::max(widths.at(i), text::width(row.at(i)));
        }
    }
    const std::size_t others =
        widths[decision] + widths[outcome] + widths[reason] + (column_count - 1) * kGap.size();
    const std::size_t room = columns > others ? columns - others : 0;
    widths[path] = std::min(widths[path], std::max(room, kNarrowestPath));
    return widths;
}

std::string padded(const std::string& cell, std::size_t width) {
    const std::string shown = text::elide(cell, width);
    return shown + std::string(width - text::width(shown), ' ');
}

std::string_view colour_of(judge::Decision decision) {
    switch (decision) {
    case judge::Decision::inject:
        return "\033[32m";
    case judge::Decision::stock:
        return "\033[33m";
    case judge::Decision::refuse:
        return "\033[31m";
    }
    return {};
}

std::string render_row(const Row& row, const Widths& widths, std::string_view colour) {
    const std::string word = padded(row[decision], widths[decision]);
    return text::concat(padded(row[path], widths[path]), kGap,
                        colour.empty() ? word : text::concat(colour, word, "\033[0m"), kGap,
                        padded(row[outcome], widths[outcome]), kGap, row[reason], "\n");
}

} // namespace

std::string render_table(const CheckReport& report, std::size_t columns, Colour colour) {
    std::vector<Row> rows{{"PATH", "DECISION", "OUTCOME", "REASON"}};
    for (const CheckedTarget& target : report.targets) {
        rows.push_back(row_of(target));
    }
    const Widths widths = widths_of(rows, columns);
    std::string out = render_row(rows.front(), widths, {});
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
        out += render_row(rows[i + 1], widths,
                          colour == Colour::on ? colour_of(report.targets[i].verdict.decision)
                                               : std::string_view{});
    }
    return out;
}

} // namespace metalrun::report
