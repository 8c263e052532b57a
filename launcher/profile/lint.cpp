// SPDX-License-Identifier: MIT
#include "profile/lint.hpp"

#include "profile/document.hpp"
#include "profile/loader.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace metalrun::profile {

namespace {

using judge::Severity;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kProgram = "metalrun";
// Both with the newline: IMG_SHSIZE of macOS, BINPRM_BUF_SIZE of Linux.
constexpr std::size_t kMacLine = 512;
constexpr std::size_t kLinuxLine = 256;
constexpr std::uint32_t kRunBits = 0111;

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
        if (line.empty()) {
            return words;
        }
        words.push_back(line.substr(0, line.find_first_of(kBlanks)));
        line.remove_prefix(words.back().size());
    }
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

// --- the `#!` line ------------------------------------------------------------------------------

/// A line that begins with `#!`, among the comments at the top of the file.
struct ScriptLine {
    std::string_view all;                ///< from the `#!` to the end, without the newline
    toml::Position at;                   ///< of the `#!`
    bool first = false;                  ///< nothing but a byte-order mark is before it
    std::vector<std::string_view> words; ///< of what follows the `#!`
};

/// What env(1) starts and hands to it: options of env and assignments left out.
std::span<const std::string_view> behind_env(std::vector<std::string_view>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        std::string_view& word = words[i];
        if (word.starts_with("-S") && word.size() > 2) {
            word.remove_prefix(2); // -Smetalrun
            return std::span(words).subspan(i);
        }
        const bool takes_value = word == "-u" || word == "-C" || word == "-P" || word == "-a";
        i += takes_value ? 1 : 0;
        if (!word.starts_with('-') && word.find('=') == std::string_view::npos) {
            return std::span(words).subspan(i);
        }
    }
    return {};
}

/// metalrun and its arguments; empty: the line names another program.
std::vector<std::string_view> command_of(const ScriptLine& line) {
    std::vector<std::string_view> words = line.words;
    if (!words.empty() && words.front().ends_with('\r')) {
        words.front().remove_suffix(1);
    }
    std::span<const std::string_view> command(words);
    if (!words.empty() && last_part(words.front()) == "env") {
        command = behind_env(words);
    }
    if (command.empty()) {
        return {};
    }
    std::vector<std::string_view> found(command.begin(), command.end());
    if (found.back().ends_with('\r')) {
        found.back().remove_suffix(1);
    }
    return last_part(found.front()) == kProgram ? found : std::vector<std::string_view>{};
}

// Further down than the first bytes only a line that means metalrun is taken for one.
std::optional<ScriptLine> find_script_line(std::string_view text) {
    std::uint32_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
        const std::string_view content = line.substr(begin);
        if (content.starts_with("#!")) {
            ScriptLine found{.all = content,
                             .at = {.line = number, .column = static_cast<uint32_t>(begin) + 1},
                             .first = number == 1 && begin == 0,
                             .words = words_of(content.substr(2))};
            if (found.first || !command_of(found).empty()) {
                return found;
            }
        }
        if (!content.empty() && !content.starts_with('#')) {
            break;
        }
    }
    return std::nullopt;
}

Flaw misplaced(const ScriptLine& line) {
    return {.id = "script-line-misplaced",
            .severity = Severity::error,
            .at = line.at,
            .message = "this '#!' line is not at the very beginning of the file, where alone a "
                       "kernel looks for it",
            .help = "make it the first line, with nothing before the '#!'"};
}

Flaw with_carriage_return(const ScriptLine& line) {
    return {.id = "script-line-crlf",
            .severity = Severity::error,
            .at = line.at,
            .message = "the '#!' line ends in a carriage return, which a kernel takes for a part "
                       "of the interpreter's name or of its last argument",
            .help = "save the file with Unix line ends"};
}

Flaw cut_at_hash(const ScriptLine& line, std::size_t hash) {
    const auto column = static_cast<std::uint32_t>(text::width(line.all.substr(0, hash)));
    return {.id = "script-line-cut",
            .severity = Severity::warning,
            .at = {.line = line.at.line, .column = line.at.column + column},
            .message = "macOS ends the '#!' line here, Linux does not",
            .help = "leave the '#' and what follows it out of the line"};
}

Flaw too_long(const ScriptLine& line, std::size_t length) {
    const bool nowhere = length > kMacLine;
    return {.id = "script-line-too-long",
            .severity = nowhere ? Severity::error : Severity::warning,
            .at = line.at,
            .message = text::format("the '#!' line has {} bytes with its newline; macOS reads {}, "
                                    "Linux {}",
                                    length, kMacLine, kLinuxLine),
            .help = "move arguments into the profile, or give the interpreter a shorter path"};
}

Flaw without_interpreter(const ScriptLine& line) {
    return {.id = "script-without-interpreter",
            .severity = Severity::error,
            .at = line.at,
            .message = "the '#!' line names no interpreter",
            .help = "write '#!/usr/bin/env metalrun'"};
}

Flaw with_blank_in_path(const ScriptLine& line) {
    return {.id = "interpreter-blank",
            .severity = Severity::error,
            .at = line.at,
            .message = text::format("the interpreter's path has a blank in it: the kernels end it "
                                    "there, and look for {}",
                                    text::quote(line.words.front())),
            .help = "make a link to metalrun at a path without blanks, and name that, or write "
                    "'#!/usr/bin/env metalrun'"};
}

Flaw relative(const ScriptLine& line) {
    return {.id = "interpreter-relative",
            .severity = Severity::error,
            .at = line.at,
            .message = text::format("the interpreter {} is looked for in the current directory of "
                                    "whoever starts the file",
                                    text::quote(line.words.front())),
            .help = "name it by its absolute path, or write '#!/usr/bin/env metalrun'"};
}

Flaw joined_for_env(const ScriptLine& line) {
    const std::size_t interpreter = line.all.find_first_not_of(kBlanks, 2);
    std::string_view argument = line.all.substr(
        line.all.find_first_not_of(kBlanks, interpreter + line.words.front().size()));
    argument = argument.substr(0, argument.find_last_not_of(" \t\r") + 1);
    return {.id = "env-arguments-joined",
            .severity = Severity::warning,
            .at = line.at,
            .message = text::format("on Linux env gets {} as one word, and finds no program of "
                                    "that name",
                                    text::quote(argument)),
            .help = "write '#!/usr/bin/env -S', which splits the line on both systems"};
}

bool splits(std::string_view option) {
    return option.starts_with("-S") || option.starts_with("-vS") ||
           option.starts_with("--split-string");
}

// '#!/My Tools/metalrun': a later word goes on with the path, while a path of its own would begin
// with a slash.
bool has_blank_in_path(const ScriptLine& line) {
    const std::string_view first = last_part(line.words.front());
    return first != "env" && first != kProgram &&
           std::any_of(line.words.begin() + 1, line.words.end(), [](std::string_view word) {
               return word.find('/') != std::string_view::npos && !word.starts_with('/') &&
                      last_part(word) == kProgram;
           });
}

void check_interpreter(const ScriptLine& line, std::vector<Flaw>& flaws) {
    if (line.words.empty()) {
        flaws.push_back(without_interpreter(line));
        return;
    }
    const std::string_view interpreter = line.words.front();
    if (!interpreter.starts_with('/')) {
        flaws.push_back(relative(line));
    } else if (has_blank_in_path(line)) {
        flaws.push_back(with_blank_in_path(line));
    } else if (last_part(interpreter) == "env" && line.words.size() > 2 && !splits(line.words[1])) {
        flaws.push_back(joined_for_env(line));
    }
}

std::vector<Flaw> check_script_line(const ScriptLine& line) {
    std::vector<Flaw> flaws;
    if (!line.first) {
        flaws.push_back(misplaced(line));
    }
    if (line.all.ends_with('\r')) {
        flaws.push_back(with_carriage_return(line));
    }
    check_interpreter(line, flaws);
    if (const std::size_t hash = line.all.find('#', 2); hash != std::string_view::npos) {
        flaws.push_back(cut_at_hash(line, hash));
    }
    if (const std::size_t length = line.all.size() + 1; length > kLinuxLine) {
        flaws.push_back(too_long(line, length));
    }
    return flaws;
}

// --- the whole text -----------------------------------------------------------------------------

Flaw byte_order_mark(bool before_script_line) {
    return {.id = "byte-order-mark",
            .severity = before_script_line ? Severity::error : Severity::warning,
            .at = {.line = 1, .column = 1},
            .message = before_script_line
                           ? "a byte-order mark stands before the '#!', so that no kernel sees it"
                           : "the file begins with a byte-order mark",
            .help = "save the file as UTF-8 without a byte-order mark"};
}

std::optional<std::uint32_t> take_number(std::string_view& text) {
    std::uint32_t number = 0;
    const std::size_t colon = text.find(':');
    const std::string_view digits = text.substr(0, colon);
    const char* const end = std::to_address(digits.end());
    const auto parsed = std::from_chars(std::to_address(digits.begin()), end, number);
    if (colon == std::string_view::npos || parsed.ec != std::errc{} || parsed.ptr != end) {
        return std::nullopt;
    }
    text.remove_prefix(colon + 1);
    return number;
}

// The loader's message begins with the place (toml::place).
Flaw not_loaded(const Error& error, const std::string& path) {
    Flaw flaw{.id = "profile-invalid",
              .severity = Severity::error,
              .at = {},
              .message = error.message,
              .help = error.help};
    const std::string head = text::concat(text::escape(path), ":");
    std::string_view rest = error.message;
    if (!rest.starts_with(head)) {
        return flaw;
    }
    rest.remove_prefix(head.size());
    const auto line = take_number(rest);
    const auto column = line ? take_number(rest) : std::nullopt;
    if (column && rest.starts_with(' ')) {
        flaw.at = {.line = *line, .column = *column};
        flaw.message = rest.substr(1);
    }
    return flaw;
}

bool has_program(const std::optional<Target>& target) {
    return target && target->program;
}

Flaw without_target(const ScriptLine& line) {
    return {.id = "target-missing",
            .severity = Severity::error,
            .at = line.at,
            .message = "the '#!' line names metalrun, but the profile has no target.program to "
                       "start",
            .help = "add a table [target] with a program, or take the '#!' line away"};
}

std::string_view without_mark(std::string_view text) {
    return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

// `#!/usr/bin/env -S metalrun -p NAME -- python3` on top of a Python script.
bool is_of_another_language(const std::vector<std::string_view>& command) {
    const auto dashes = std::ranges::find(command, "--");
    return dashes != command.end() && dashes + 1 != command.end();
}

std::optional<Flaw> check_run_bit(std::string_view text, const std::string& path,
                                  std::uint32_t mode) {
    const std::optional<ScriptLine> line = find_script_line(without_mark(text));
    const bool runs = (mode & kRunBits) != 0;
    if (line && !runs && !command_of(*line).empty()) {
        return Flaw{.id = "run-bit-missing",
                    .severity = Severity::warning,
                    .at = {},
                    .message = text::format("the file names metalrun in its '#!' line, but may not "
                                            "be executed (mode {:04o})",
                                            mode),
                    .help = text::format("chmod +x {}", text::quote(path))};
    }
    if (!line && runs) {
        return Flaw{.id = "run-bit-without-script-line",
                    .severity = Severity::warning,
                    .at = {},
                    .message = text::format(
                        "the file may be executed (mode {:04o}), but has no '#!' line", mode),
                    .help = text::format("begin it with '#!/usr/bin/env metalrun', or take the run "
                                         "bit away: chmod -x {}",
                                         text::quote(path))};
    }
    return std::nullopt;
}

// By place; flaws of one place stay as they were found.
std::vector<Flaw> in_order(std::vector<Flaw> flaws) {
    const auto place = [](const Flaw& flaw) { return std::pair(flaw.at.line, flaw.at.column); };
    std::vector<Flaw> ordered;
    ordered.reserve(flaws.size());
    for (Flaw& flaw : flaws) {
        ordered.insert(std::ranges::upper_bound(ordered, place(flaw), {}, place), std::move(flaw));
    }
    return ordered;
}

} // namespace

std::string with_place(const Flaw& flaw, const std::string& path) {
    return flaw.at.line == 0 ? text::format("{}: {}", text::escape(path), flaw.message)
                             : text::concat(toml::place(path, flaw.at), flaw.message);
}

std::vector<Flaw> lint_text(std::string_view text, const std::string& path,
                            const std::string& folder) {
    const std::string_view content = without_mark(text);
    const std::optional<ScriptLine> line = find_script_line(content);
    std::vector<Flaw> flaws;
    if (content.size() != text.size()) {
        flaws.push_back(byte_order_mark(line && line->first));
    }
    std::vector<std::string_view> command;
    if (line) {
        std::ranges::move(check_script_line(*line), std::back_inserter(flaws));
        command = command_of(*line);
    }
    if (is_of_another_language(command)) {
        return flaws;
    }
    const Result<Profile> profile = parse_profile(text, path, folder);
    if (!profile) {
        flaws.push_back(not_loaded(profile.error(), path));
    } else if (line && !command.empty() && !has_program(profile->target)) {
        flaws.push_back(without_target(*line));
    }
    return in_order(std::move(flaws));
}

Result<std::vector<Flaw>> lint(System& system, const std::string& path, TrustedFolders& trust) {
    const SysResult<std::unique_ptr<File>> file = system.open(path);
    if (!file) {
        return cannot("open", path, file.error());
    }
    const FileStatus& status = (*file)->status();
    if (Result<void> small = check_size(status, path); !small) {
        return fail(std::move(small.error()));
    }
    const SysResult<std::string> real = (*file)->real_path();
    if (!real) {
        return cannot("find", path, real.error());
    }
    const Result<std::string> text = read_all(**file, path);
    if (!text) {
        return fail(text.error());
    }
    std::vector<Flaw> flaws = lint_text(*text, path, parent_of(*real));
    if (auto run_bit = check_run_bit(*text, path, status.mode)) {
        flaws.push_back(std::move(*run_bit));
    }
    if (Result<void> trusted = trust.check(*real, status, Errc::profile); !trusted) {
        flaws.push_back({.id = "profile-untrusted",
                         .severity = Severity::error,
                         .at = {},
                         .message = std::move(trusted.error().message),
                         .help = std::move(trusted.error().help)});
    }
    return flaws;
}

} // namespace metalrun::profile
