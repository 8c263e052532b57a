// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace metalrun::test {

namespace {

using Names = std::vector<std::string>;
using Groups = std::map<std::string, Names>;

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Names split(std::string_view text, char separator) {
    Names parts;
    std::istringstream in{std::string{text}};
    for (std::string part; std::getline(in, part, separator);) {
        if (const auto name = trimmed(part); !name.empty()) {
            parts.emplace_back(name);
        }
    }
    return parts;
}

Names expanded(const Names& names, const Groups& groups) {
    Names members;
    for (const auto& name : names) {
        if (const auto group = groups.find(name); group != groups.end()) {
            members.insert(members.end(), group->second.begin(), group->second.end());
        } else {
            members.push_back(name);
        }
    }
    return members;
}

bool has(const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

std::pair<int, int> version(std::string_view text) {
    const auto parts = split(text, '.');
    return {std::stoi(parts.at(0)), parts.size() > 1 ? std::stoi(parts.at(1)) : 0};
}

bool version_fits(std::string_view wanted, std::string_view macos) {
    if (wanted == "any") {
        return true;
    }
    if (wanted.starts_with(">=")) {
        return version(macos) >= version(wanted.substr(2));
    }
    if (wanted.starts_with('<')) {
        return version(macos) < version(wanted.substr(1));
    }
    return has(split(wanted, ','), std::string{macos});
}

std::runtime_error error_at(int line, const std::string& what) {
    return std::runtime_error{"line " + std::to_string(line) + ": " + what};
}

Row parse_row(std::string_view text, int line, const Groups& groups) {
    const auto fields = split(text, '|');
    if (fields.size() != 10) {
        throw error_at(line, "a row has ten fields, this one " + std::to_string(fields.size()));
    }
    Row row{.line = line,
            .targets = expanded(split(fields[0], ','), groups),
            .libraries = expanded(split(fields[1], ','), groups),
            .sip = fields[2],
            .macos = fields[3],
            .expected = {fields[4], fields[5], fields[6], fields[7]},
            .known = fields[8] == "-" ? "" : fields[8],
            .source = fields[9]};
    if (!has({"on", "off", "any"}, row.sip)) {
        throw error_at(line, "no such SIP state: " + row.sip);
    }
    return row;
}

void require_known_names(const Table& table) {
    for (const auto& row : table.rows) {
        for (const auto& [names, group] :
             {std::pair{&row.targets, "targets"}, std::pair{&row.libraries, "libraries"}}) {
            for (const auto& name : *names) {
                if (!has(table.groups.at(group), name)) {
                    throw error_at(row.line, "not one of the " + std::string{group} + ": " + name);
                }
            }
        }
    }
}

} // namespace

bool Row::fits(const Question& question) const {
    return has(targets, question.target) && has(libraries, question.library) &&
           (sip == "any" || sip == question.sip) && version_fits(macos, question.macos);
}

std::vector<const Row*> Table::rows_for(const Question& question) const {
    std::vector<const Row*> fitting;
    for (const auto& row : rows) {
        if (row.fits(question)) {
            fitting.push_back(&row);
        }
    }
    return fitting;
}

Table parse_table(std::string_view text) {
    Table table;
    std::istringstream in{std::string{text}};
    int line = 0;
    for (std::string raw; std::getline(in, raw);) {
        ++line;
        const auto content = trimmed(raw);
        if (content.empty() || content.starts_with('#')) {
            continue;
        }
        if (content.find('|') != std::string_view::npos) {
            table.rows.push_back(parse_row(content, line, table.groups));
            continue;
        }
        const auto equals = content.find('=');
        if (equals == std::string_view::npos) {
            throw error_at(line, "neither a row nor a group");
        }
        auto& group = table.groups[std::string{trimmed(content.substr(0, equals))}];
        const auto members = expanded(split(content.substr(equals + 1), ' '), table.groups);
        group.insert(group.end(), members.begin(), members.end());
    }
    require_known_names(table);
    return table;
}

std::vector<Question> questions_of(const Table& table) {
    std::vector<Question> questions;
    for (const auto& macos : table.groups.at("versions")) {
        for (const auto* sip : {"on", "off"}) {
            for (const auto& library : table.groups.at("libraries")) {
                for (const auto& target : table.groups.at("targets")) {
                    questions.push_back({target, library, sip, macos});
                }
            }
        }
    }
    return questions;
}

bool agrees(const Answer& expected, const Answer& seen) {
    const auto same = [](const std::string& wanted, const std::string& given) {
        return wanted == "?" || wanted == given;
    };
    return same(expected.decision, seen.decision) && same(expected.outcome, seen.outcome) &&
           same(expected.worst, seen.worst) && same(expected.reason, seen.reason);
}

std::string printed(const Question& question) {
    return question.target + " with " + question.library + ", SIP " + question.sip + ", macOS " +
           question.macos;
}

std::string printed(const Answer& answer) {
    return answer.decision + " " + answer.outcome + " " + answer.worst + " " + answer.reason;
}

} // namespace metalrun::test
