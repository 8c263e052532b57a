// SPDX-License-Identifier: MIT
//
// metalrun's answers for every combination of target, library, SIP state and macOS version against
// verdicts.txt, which was written from the documents it names and not from the program.
#include "harness.hpp"
#include "table.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include <boost/json/src.hpp>
#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

using Rows = std::vector<const Row*>;

/// The questions that one call of 'check' answers: (macos, sip, library).
using Machine = std::tuple<std::string, std::string, std::string>;

std::string file_of(std::string_view folder, const std::string& name) {
    const std::string own =
        std::string{METALRUN_VERDICTS_FILES "/"}.append(folder).append("/").append(name);
    return exists(own) ? own : METALRUN_FIXTURES "/" + name;
}

std::string library_file(const std::string& name) {
    return METALRUN_VERDICTS_FILES "/libraries/" + name;
}

std::string text_or_dash(const boost::json::value& value) {
    return value.is_string() ? std::string{value.as_string().c_str()} : "-";
}

/// Answers by path. Empty, with a failed check, when there is no document.
std::map<std::string, Answer> parse_answers(const std::string& document) {
    boost::system::error_code error;
    const auto json = boost::json::parse(document, error);
    REQUIRE_MESSAGE(!error, error.message());
    std::map<std::string, Answer> answers;
    for (const auto& target : json.at("targets").as_array()) {
        answers[text_or_dash(target.at("path"))] = {
            text_or_dash(target.at("decision")), text_or_dash(target.at("outcome")),
            text_or_dash(target.at("worst")), text_or_dash(target.at("reason"))};
    }
    return answers;
}

std::map<std::string, Answer> ask(const TempFolder& folder, const Machine& machine,
                                  const std::vector<std::string>& targets) {
    const auto& [macos, sip, library] = machine;
    const auto facts = folder.write(
        "facts.toml",
        "os = \"" + macos + "\"\narchitecture = \"arm64\"\nguest = true\nsip = \"" + sip + "\"\n");
    Strings arguments{"check",        "--json", "--profile", "default",
                      "--host-facts", facts,    "--shim",    library_file(library)};
    for (const auto& target : targets) {
        arguments.push_back(file_of("targets", target));
    }
    const auto outcome = run(metalrun_command(arguments));
    CAPTURE(outcome.err);
    return parse_answers(outcome.out);
}

const Table& table() {
    static const Table kTable = parse_table(read_file(METALRUN_VERDICTS_TABLE));
    return kTable;
}

Rows rows_for(const Question& question) {
    Rows rows;
    for (const auto& row : table().rows) {
        if (row.fits(question)) {
            rows.push_back(&row);
        }
    }
    return rows;
}

/// What became of the questions of one row.
struct Tally {
    int agreed = 0;
    int differed = 0;
    std::string first; ///< the first difference
};

std::map<Machine, std::vector<std::string>> by_machine() {
    std::map<Machine, std::vector<std::string>> calls;
    for (const auto& question : questions_of(table())) {
        calls[{question.macos, question.sip, question.library}].push_back(question.target);
    }
    return calls;
}

std::map<const Row*, Tally> tally_all() {
    std::map<const Row*, Tally> tallies;
    const TempFolder folder;
    for (const auto& [machine, targets] : by_machine()) {
        const auto answers = ask(folder, machine, targets);
        for (const auto& target : targets) {
            const auto& [macos, sip, library] = machine;
            const Question question{target, library, sip, macos};
            const auto found = answers.find(file_of("targets", target));
            const Answer seen = found == answers.end() ? Answer{} : found->second;
            for (const auto* row : rows_for(question)) {
                auto& tally = tallies[row];
                const bool agreed = agrees(row->expected, seen);
                (agreed ? tally.agreed : tally.differed) += 1;
                if (!agreed && tally.first.empty()) {
                    tally.first = printed(question) + ": " + printed(seen);
                }
            }
        }
    }
    return tallies;
}

std::string report(const Row& row, const Tally& tally) {
    std::ostringstream out;
    out << "verdicts.txt:" << row.line << ": expected " << printed(row.expected) << " ("
        << row.source << ")\n  " << tally.differed << " of " << tally.agreed + tally.differed
        << " differ, the first: " << tally.first;
    return out.str();
}

} // namespace

TEST_SUITE("verdicts") {
    TEST_CASE("every combination is decided by exactly one row") {
        std::set<int> used;
        for (const auto& question : questions_of(table())) {
            const auto rows = rows_for(question);
            CAPTURE(printed(question));
            CHECK_EQ(rows.size(), 1);
            for (const auto* row : rows) {
                used.insert(row->line);
            }
        }
        for (const auto& row : table().rows) {
            CHECK_MESSAGE(used.contains(row.line), "verdicts.txt:", row.line, ": never asked");
        }
    }

    TEST_CASE("every answer is the documents' answer") {
        int questions = 0;
        for (const auto& [row, tally] : tally_all()) {
            questions += tally.agreed + tally.differed;
            const auto text = report(*row, tally);
            if (row->known.empty()) {
                CHECK_MESSAGE(tally.differed == 0, text);
                continue;
            }
            std::cout << "known difference: " << text << "\n  " << row->known << '\n';
            CHECK_MESSAGE(tally.agreed == 0, "verdicts.txt:", row->line,
                          ": no difference any more, take the mark away: ", row->known);
        }
        std::cout << questions << " questions, " << table().rows.size() << " rows\n";
    }

    TEST_CASE("System Integrity Protection unknown counts as on") {
        const TempFolder folder;
        for (const auto& [machine, targets] : by_machine()) {
            const auto& [macos, sip, library] = machine;
            // The versions differ in nothing that depends on it.
            if (sip != "on" || macos != table().groups.at("versions").back()) {
                continue;
            }
            const auto on = ask(folder, machine, targets);
            const auto unknown = ask(folder, {macos, "unknown", library}, targets);
            REQUIRE_EQ(on.size(), unknown.size());
            for (const auto& [path, answer] : on) {
                CAPTURE(path);
                CAPTURE(library);
                CHECK_EQ(printed(answer), printed(unknown.at(path)));
            }
        }
    }

} // TEST_SUITE
