// SPDX-License-Identifier: MIT
//
// Reads a table of expected verdicts: groups (NAME = MEMBER…), comments (#) and rows whose fields
// are parted by '|'. verdicts.txt explains the columns.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::test {

/// One question: what is answered for this target and library on this machine.
struct Question {
    std::string target;
    std::string library;
    std::string sip;   ///< on, off
    std::string macos; ///< a version as in host facts
};

/// Answers by the words of 'check --json'; '-' stands for null.
struct Answer {
    std::string decision;
    std::string outcome;
    std::string worst;
    std::string reason;
};

/// One line of the table.
struct Row {
    int line = 0;
    std::vector<std::string> targets;
    std::vector<std::string> libraries;
    std::string sip;   ///< on, off, any
    std::string macos; ///< any, <VERSION, >=VERSION, VERSION,…
    Answer expected;   ///< '?' agrees with anything
    std::string known; ///< why the program answers otherwise for now; empty: it must agree
    std::string source;

    [[nodiscard]] bool fits(const Question& question) const;
};

struct Table {
    std::map<std::string, std::vector<std::string>> groups; ///< members are names only
    std::vector<Row> rows;

    /// Those that decide a question: one, in a table without mistakes.
    [[nodiscard]] std::vector<const Row*> rows_for(const Question& question) const;
};

/// Throws std::runtime_error, with the line, for what is no table.
[[nodiscard]] Table parse_table(std::string_view text);

/// Every target with every library, SIP state and version.
[[nodiscard]] std::vector<Question> questions_of(const Table& table);

[[nodiscard]] bool agrees(const Answer& expected, const Answer& seen);

[[nodiscard]] std::string printed(const Question& question);
[[nodiscard]] std::string printed(const Answer& answer);

} // namespace metalrun::test
