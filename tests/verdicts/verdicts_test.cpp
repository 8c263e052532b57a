// SPDX-License-Identifier: MIT
//
// metalrun's answers for every combination of target, library, SIP state and macOS version against
// verdicts.txt and scripts.txt, which were written from the documents they name and not from the
// program.
#include "harness.hpp"
#include "scripts.hpp"
#include "table.hpp"

#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include <boost/json/src.hpp>
#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

using Answers = std::map<std::string, Answer>; ///< by path

/// The questions that one call of 'check' answers: macos, sip, library.
using Machine = std::tuple<std::string, std::string, std::string>;

/// What became of the questions of one row.
struct Tally {
    int agreed = 0;
    int differed = 0;
    std::string first; ///< the first difference
};

/// A table, and the program asked about it.
class Examination {
public:
    explicit Examination(std::string name)
        : name_{std::move(name)},
          table_{parse_table(read_file(METALRUN_VERDICTS_TABLES "/" + name_))} {
        for (const auto& [script, bytes] : scripts()) {
            folder_.write("scripts/" + script, bytes, 0755);
        }
        for (const auto& question : questions_of(table_)) {
            calls_[{question.macos, question.sip, question.library}].push_back(question.target);
        }
    }

    [[nodiscard]] const Table& table() const { return table_; }
    [[nodiscard]] const std::map<Machine, Strings>& calls() const { return calls_; }
    [[nodiscard]] Answers ask(const Machine& machine, const Strings& targets) const;
    [[nodiscard]] std::map<const Row*, Tally> tally_all() const;
    /// Where a row is, what it wants and why.
    [[nodiscard]] std::string printed_row(const Row& row) const;

private:
    /// One of the scripts, a file of this test, else a fixture.
    [[nodiscard]] std::string file_of(const std::string& kind, const std::string& name) const;

    std::string name_;
    Table table_;
    TempFolder folder_;
    std::map<Machine, Strings> calls_;
};

std::string text_or_dash(const boost::json::value& value) {
    return value.is_string() ? std::string{value.as_string().c_str()} : "-";
}

Answers parse_answers(const std::string& document) {
    Answers answers;
    const auto root = boost::json::parse(document);
    for (const auto& target : root.at("targets").as_array()) {
        answers[text_or_dash(target.at("path"))] = {
            text_or_dash(target.at("decision")), text_or_dash(target.at("outcome")),
            text_or_dash(target.at("worst")), text_or_dash(target.at("reason"))};
    }
    return answers;
}

std::string Examination::file_of(const std::string& kind, const std::string& name) const {
    for (const auto& folder : {folder_ / "scripts", METALRUN_VERDICTS_FILES "/" + kind}) {
        if (const auto path = folder + "/" + name; exists(path)) {
            return path;
        }
    }
    return METALRUN_FIXTURES "/" + name;
}

/// Throws std::runtime_error when there is no document, or one without a target.
Answers Examination::ask(const Machine& machine, const Strings& targets) const {
    const auto& [macos, sip, library] = machine;
    const auto facts = folder_.write("facts.toml", "os = \"" + macos +
                                                       "\"\narchitecture = \"arm64\"\n"
                                                       "guest = true\nsip = \"" +
                                                       sip + "\"\n");
    Strings arguments{"check",        "--json", "--profile", "default",
                      "--host-facts", facts,    "--shim",    file_of("libraries", library)};
    for (const auto& target : targets) {
        arguments.push_back(file_of("targets", target));
    }
    const auto outcome = run(metalrun_command(arguments));
    if (outcome.signal() != 0 || outcome.out.empty()) {
        throw std::runtime_error{"no answer for " + library + ": " + outcome.err};
    }
    const auto by_path = parse_answers(outcome.out);
    Answers by_name;
    for (const auto& target : targets) {
        by_name[target] = by_path.at(file_of("targets", target));
    }
    return by_name;
}

std::map<const Row*, Tally> Examination::tally_all() const {
    std::map<const Row*, Tally> tallies;
    for (const auto& [machine, targets] : calls_) {
        const auto& [macos, sip, library] = machine;
        for (const auto& [target, seen] : ask(machine, targets)) {
            const Question question{target, library, sip, macos};
            for (const auto* row : table_.rows_for(question)) {
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

std::string Examination::printed_row(const Row& row) const {
    return name_ + ":" + std::to_string(row.line) + ": expected " + printed(row.expected) + " (" +
           row.source + ")";
}

std::string printed(const Tally& tally) {
    return "\n  " + std::to_string(tally.differed) + " of " +
           std::to_string(tally.agreed + tally.differed) + " differ, the first: " + tally.first;
}

const std::initializer_list<std::string> kTables{"verdicts.txt", "scripts.txt"};

} // namespace

TEST_SUITE("verdicts") {
    TEST_CASE("every combination is decided by exactly one row") {
        for (const auto& name : kTables) {
            const Examination examination{name};
            std::set<int> used;
            for (const auto& question : questions_of(examination.table())) {
                const auto rows = examination.table().rows_for(question);
                CAPTURE(printed(question));
                CHECK_EQ(rows.size(), 1);
                for (const auto* row : rows) {
                    used.insert(row->line);
                }
            }
            for (const auto& row : examination.table().rows) {
                CHECK_MESSAGE(used.contains(row.line), examination.printed_row(row),
                              ": never asked");
            }
        }
    }

    TEST_CASE("every answer is the documents' answer") {
        for (const auto& name : kTables) {
            const Examination examination{name};
            for (const auto& [row, tally] : examination.tally_all()) {
                const auto text = examination.printed_row(*row) + printed(tally);
                if (row->known.empty()) {
                    CHECK_MESSAGE(tally.differed == 0, text);
                    continue;
                }
                std::cout << "known difference " << row->known << ": " << text << '\n';
                CHECK_MESSAGE(tally.agreed == 0, examination.printed_row(*row),
                              ": agrees now, take its mark away: ", row->known);
            }
        }
    }

    TEST_CASE("System Integrity Protection unknown counts as on") {
        const Examination examination{"verdicts.txt"};
        for (const auto* library : {"adhoc", "team", "universal", "missing"}) {
            const Machine on{"15.5", "on", library};
            const auto& targets = examination.calls().at(on);
            const auto unknown = examination.ask({"15.5", "unknown", library}, targets);
            for (const auto& [target, answer] : examination.ask(on, targets)) {
                CAPTURE(target);
                CAPTURE(library);
                CHECK_EQ(printed(answer), printed(unknown.at(target)));
            }
        }
    }

} // TEST_SUITE
