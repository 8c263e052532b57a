// SPDX-License-Identifier: MIT
//
// Which shells wait for somebody to type, by their name and arguments.
#include "judge/shells.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using judge::has_commands;

namespace {

struct Row {
    const char* shell;
    std::vector<std::string> arguments;
};

std::string text_of(const Row& row) {
    std::string text = row.shell;
    for (const auto& argument : row.arguments) {
        text += " " + argument;
    }
    return text;
}

} // namespace

TEST_SUITE("judge.shells") {

    TEST_CASE("shells are known by name, also as login(1) calls them") {
        for (const auto* name : {"sh", "bash", "zsh", "fish", "tcsh", "nu", "pwsh", "xonsh", "-zsh",
                                 "-sh", "dash", "ksh", "csh", "elvish"}) {
            CHECK_MESSAGE(judge::is_shell(name), std::string(name));
        }
        for (const auto* name : {"", "-", "python3", "shellcheck", "bashful", "--zsh", "ssh"}) {
            CHECK_FALSE_MESSAGE(judge::is_shell(name), std::string(name));
        }
    }

    TEST_CASE("these wait for somebody") {
        const std::vector<Row> rows{
            {"sh", {}},
            {"bash", {"-il"}},
            {"bash", {"-l"}},
            {"bash", {"--login"}},
            {"bash", {"-login"}},
            {"bash", {"-norc"}},
            {"bash", {"--noprofile", "--norc"}},
            {"bash", {"-o", "vi"}},
            {"bash", {"+o", "history", "-i"}},
            {"bash", {"-O", "globstar"}},
            {"bash", {"--rcfile", "/home/me/rc", "-i"}},
            {"bash", {"--init-file", "rc"}},
            {"bash", {"--rcfile=rc"}},
            {"bash", {"-"}},
            {"bash", {"--"}},
            {"zsh", {"-i"}},
            {"zsh", {"-f"}},
            {"zsh", {"--emulate", "sh"}},
            {"-zsh", {}},
            {"ksh", {"-o", "emacs", "-i"}},
            {"fish", {"-i"}},
            {"fish", {"--login"}},
            {"fish", {"-C", "set -x A 1"}},
            {"fish", {"--init-command", "set -x A 1"}},
            {"fish", {"--init-command=set -x A 1"}},
            {"tcsh", {"-l"}},
            {"nu", {"--login"}},
            {"nu", {"-e", "cd /"}},
            {"nu", {"--config", "c.nu"}},
            {"xonsh", {"--rc", "rc.xsh"}},
            {"xonsh", {"-i"}},
            {"pwsh", {"-NoLogo", "-NoProfile"}},
            {"pwsh", {"-Login"}},
            {"pwsh", {"-Interactive"}},
            {"pwsh", {"-ExecutionPolicy", "Bypass", "-WorkingDirectory", "/"}},
        };
        for (const auto& row : rows) {
            CHECK_FALSE_MESSAGE(has_commands(row.shell, row.arguments), text_of(row));
        }
    }

    TEST_CASE("these have their work with them, interactive or not") {
        const std::vector<Row> rows{
            {"bash", {"script.sh"}},
            {"bash", {"-x", "script.sh", "-i"}},
            {"bash", {"--norc", "script.sh"}},
            {"bash", {"-c", "llama-server"}},
            {"bash", {"-lc", "llama-server"}},
            {"bash", {"-euo", "pipefail", "-c", "llama-server"}},
            {"bash", {"-o", "pipefail", "script.sh"}},
            {"bash", {"--", "script.sh"}},
            {"bash", {"-s", "an argument"}},
            {"bash", {"--version"}},
            {"bash", {""}},
            {"zsh", {"-i", "-c", "llama-server"}},
            {"zsh", {"-ic", "llama-server"}},
            {"-zsh", {"-c", "llama-server"}},
            {"sh", {"-s"}},
            {"fish", {"-c", "llama-server"}},
            {"fish", {"--command", "llama-server"}},
            {"fish", {"--command=llama-server"}},
            {"fish", {"-C", "set -x A 1", "script.fish"}},
            {"tcsh", {"-fc", "llama-server"}},
            {"nu", {"-c", "llama-server"}},
            {"nu", {"--commands", "llama-server"}},
            {"nu", {"--config", "c.nu", "script.nu"}},
            {"xonsh", {"-c", "llama-server"}},
            {"pwsh", {"-Command", "llama-server"}},
            {"pwsh", {"-c", "llama-server"}},
            {"pwsh", {"-NoProfile", "-File", "script.ps1"}},
            {"pwsh", {"--noprofile", "script.ps1"}},
            {"pwsh", {"-ep", "Bypass", "-EncodedCommand", "AAAA"}},
        };
        for (const auto& row : rows) {
            CHECK_MESSAGE(has_commands(row.shell, row.arguments), text_of(row));
        }
    }

} // TEST_SUITE
