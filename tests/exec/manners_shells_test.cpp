// SPDX-License-Identifier: MIT
//
// `exec metalrun -- PROGRAM "$@"` as the last line of a script, in the shells that people have: the
// process of the script, its arguments byte for byte, the status of the program.
#include "harness.hpp"

#include <csignal>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

struct Shell {
    std::string name;
    std::string first_line; ///< behind `#!`
    std::string all;        ///< the script's arguments, as this shell spells them
};

const std::vector<Shell> kShells{{"sh", "/bin/sh", "\"$@\""},
                                 {"bash", "/bin/bash --norc", "\"$@\""},
                                 {"zsh", "/usr/bin/zsh -f", "\"$@\""},
                                 {"fish", "/usr/bin/fish --no-config", "$argv"}};

const std::vector<Strings> kOptions{
    {"--anywhere"}, {"--anywhere", "--children", "inherit"}, {"--stock", "-q"}};

const std::vector<Strings> kArguments{
    {},
    {"one", "two three", "  ", "\t"},
    {"", "", "last"},
    {"line one\nline two", "\n", "a\\nb"},
    {"--", "-p", "--stock", "-c", "--help"},
    {"$HOME", "`id`", "*", "~", "a'b\"c\\d", "(ls)", "{a,b}", "!x", "#"},
    {"caf\xc3\xa9", "\xff\xfe", "\x80 \xc3"}};

std::string joined(const Strings& words) {
    std::string text;
    for (const auto& word : words) {
        text += " '" + word + "'";
    }
    return text;
}

std::vector<Shell> shells_here() {
    std::vector<Shell> here;
    for (const auto& shell : kShells) {
        const auto path = shell.first_line.substr(0, shell.first_line.find(' '));
        if (exists(path)) {
            here.push_back(shell);
        } else {
            MESSAGE("skipped: ", path, " is not installed");
        }
    }
    return here;
}

/// The script of a shell, whose last line becomes these words and the script's own arguments.
std::string write_script(const TempFolder& folder, const Shell& shell, const Strings& words) {
    return folder.write(shell.name + "-script",
                        "#!" + shell.first_line + "\nexec" + joined(words) + " " + shell.all + "\n",
                        0755);
}

Strings with_metalrun(const Strings& options, const std::string& program) {
    Strings words{programs().metalrun};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", program});
    return words;
}

Command start(const TempFolder& folder, const std::string& script, const Strings& arguments) {
    Command command;
    command.arguments = {script};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    // fish keeps files of its own there.
    command.environment.push_back("HOME=" + folder.path());
    return command;
}

} // namespace

TEST_SUITE("exec.manners_shells") {

    TEST_CASE("the script's process and arguments are the program's") {
        for (const auto& shell : shells_here()) {
            for (const auto& options : kOptions) {
                const TempFolder folder;
                const auto script =
                    write_script(folder, shell, with_metalrun(options, target("show")));
                for (const auto& arguments : kArguments) {
                    CAPTURE(shell.name);
                    CAPTURE(options.back());
                    const auto shown = run_show(folder, start(folder, script, arguments));
                    REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                    Strings expected{target("show")};
                    expected.insert(expected.end(), arguments.begin(), arguments.end());
                    CHECK(shown.report->arguments == expected);
                    CHECK(shown.report->pid == shown.outcome.pid);
                    CHECK(shown.report->descriptors == std::vector<int>{0, 1, 2});
                    CHECK(shown.outcome.out.empty());
                    CHECK(shown.outcome.err.empty());
                    CHECK(shown.outcome.status() == 0);
                }
            }
        }
    }

    TEST_CASE("the program finds what it finds behind a plain exec in the same script") {
        for (const auto& shell : shells_here()) {
            CAPTURE(shell.name);
            const TempFolder folder;
            const auto plain =
                run_show(folder, start(folder, write_script(folder, shell, {target("show")}), {}));
            REQUIRE(plain.report);
            for (const auto& options : {kOptions.front(), kOptions.back()}) {
                const auto script =
                    write_script(folder, shell, with_metalrun(options, target("show")));
                const auto shown = run_show(folder, start(folder, script, {}));
                REQUIRE(shown.report);
                // `_` is the path of what the shell starts.
                CHECK(without(shown.report->environment, {"_"}) ==
                      without(plain.report->environment, {"_"}));
                CHECK(shown.report->blocked == plain.report->blocked);
                CHECK(shown.report->ignored == plain.report->ignored);
                CHECK(shown.report->handled == plain.report->handled);
                CHECK(shown.report->cwd == plain.report->cwd);
            }
        }
    }

    TEST_CASE("the script's status is the program's, and so is its death") {
        for (const auto& shell : shells_here()) {
            CAPTURE(shell.name);
            const TempFolder folder;
            for (const auto& options : kOptions) {
                auto script =
                    write_script(folder, shell, with_metalrun(options, target("exit_with")));
                for (const int status : {0, 7, 126, 255}) {
                    CHECK(run(start(folder, script, {std::to_string(status)})).status() == status);
                }
                script = write_script(folder, shell, with_metalrun(options, target("die_by")));
                CHECK(run(start(folder, script, {std::to_string(SIGTERM)})).signal() == SIGTERM);
            }
        }
    }

    TEST_CASE("a refusal is the script's status") {
        for (const auto& shell : shells_here()) {
            CAPTURE(shell.name);
            const TempFolder folder;
            const auto status_of = [&](const Strings& options, const std::string& program) {
                const auto script = write_script(folder, shell, with_metalrun(options, program));
                return run(start(folder, script, {})).status();
            };
            CHECK(status_of({"--no-such-option"}, target("show")) == 125);
            CHECK(status_of({"--anywhere"}, target("show_static")) == 126);
            CHECK(status_of({"--anywhere"}, "/nowhere/prog") == 127);
        }
    }

} // TEST_SUITE
