// SPDX-License-Identifier: MIT
#include "judge/shells.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace metalrun::judge {

namespace {

using Words = std::span<const std::string_view>;

// `letters`: options whose value is the next argument.
struct Shell {
    std::string_view name;
    std::string_view letters;
};
constexpr std::array<Shell, 17> kShells{{{"ash", "o"},
                                         {"bash", "oO"},
                                         {"csh", ""},
                                         {"dash", "o"},
                                         {"elvish", ""},
                                         {"fish", "Cdfop"},
                                         {"ksh", "oR"},
                                         {"mksh", "oT"},
                                         {"nu", "eImt"},
                                         {"osh", "oO"},
                                         {"pwsh", ""},
                                         {"rbash", "oO"},
                                         {"sh", "oO"},
                                         {"tcsh", ""},
                                         {"xonsh", "D"},
                                         {"yash", "o"},
                                         {"zsh", "o"}}};

// Long options of all of them; bash takes its own with one dash, too.
constexpr std::array<std::string_view, 4> kCommandWords{"command", "commands", "help", "version"};
constexpr std::array<std::string_view, 19> kValueWords{
    "config",          "debug",      "debug-output",  "emulate",     "env-config",
    "execute",         "features",   "init-command",  "init-file",   "log-file",
    "log-level",       "log-target", "plugin-config", "plugin-path", "profile",
    "profile-startup", "rc",         "rcfile",        "shell-type"};
constexpr std::array<std::string_view, 9> kOneDashWords{"init-file", "login",      "noediting",
                                                        "noprofile", "norc",       "posix",
                                                        "rcfile",    "restricted", "verbose"};
constexpr std::string_view kCommandLetters = "cs";

// PowerShell's options, which may be shortened.
constexpr std::array<std::string_view, 7> kPowerCommands{
    "command", "commandwithargs", "cwa", "ec", "encodedcommand", "file", "help"};
constexpr std::array<std::string_view, 11> kPowerValues{
    "configurationfile", "configurationname", "custompipename", "ep", "executionpolicy",
    "inputformat",       "outputformat",      "settingsfile",   "wd", "windowstyle",
    "workingdirectory"};

bool is_among(Words words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool shortens_one(Words words, std::string_view text) {
    return std::ranges::any_of(words, [&](auto word) { return word.starts_with(text); });
}

std::string_view without_dash(std::string_view name) {
    return name.substr(name.starts_with('-') ? 1 : 0);
}

const Shell* find_shell(std::string_view name) {
    const auto found = std::ranges::find(kShells, without_dash(name), &Shell::name);
    return found == kShells.end() ? nullptr : &*found;
}

enum class Meaning : std::uint8_t { commands, option, option_with_value };

Meaning meaning_in_powershell(std::string_view argument) {
    std::string word(argument.substr(argument.starts_with("--") ? 2 : 1));
    for (char& letter : word) { // whatever the locale
        letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    }
    if (shortens_one(kPowerCommands, word)) {
        return Meaning::commands;
    }
    return shortens_one(kPowerValues, word) ? Meaning::option_with_value : Meaning::option;
}

Meaning meaning_of_word(std::string_view word) {
    const std::size_t value = word.find('=');
    const std::string_view name = word.substr(0, value);
    if (is_among(kCommandWords, name)) {
        return Meaning::commands;
    }
    return value == std::string_view::npos && is_among(kValueWords, name)
               ? Meaning::option_with_value
               : Meaning::option;
}

// `option` is not empty behind its dash.
Meaning meaning_of(const Shell& shell, std::string_view option) {
    if (shell.name == "pwsh") {
        return meaning_in_powershell(option);
    }
    const std::string_view letters = option.substr(1);
    if (letters.starts_with('-')) {
        return meaning_of_word(letters.substr(1));
    }
    if (is_among(kOneDashWords, letters)) {
        return meaning_of_word(letters);
    }
    if (option.starts_with('-') &&
        letters.find_first_of(kCommandLetters) != std::string_view::npos) {
        return Meaning::commands;
    }
    return letters.find_first_of(shell.letters) != std::string_view::npos
               ? Meaning::option_with_value
               : Meaning::option;
}

} // namespace

bool is_shell(std::string_view name) {
    return find_shell(name) != nullptr;
}

bool opens_session(std::string_view name) {
    static constexpr std::array<std::string_view, 8> kSessions{
        "byobu", "login", "screen", "script", "sshd", "su", "tmux", "zellij"};
    return is_among(kSessions, name);
}

bool has_commands(std::string_view shell, std::span<const std::string> arguments) {
    const Shell* known = find_shell(shell);
    for (std::size_t index = 0; known != nullptr && index < arguments.size(); ++index) {
        const std::string_view argument = arguments[index];
        if (argument == "-" || argument == "--") {
            return index + 1 < arguments.size();
        }
        if (!argument.starts_with('-') && !argument.starts_with('+')) {
            return true; // a script
        }
        switch (meaning_of(*known, argument)) {
        case Meaning::commands:
            return true;
        case Meaning::option:
            break;
        case Meaning::option_with_value:
            ++index;
            break;
        }
    }
    return false;
}

} // namespace metalrun::judge
