// SPDX-License-Identifier: MIT
//
// `#!` rules: Linux binfmt_script (256 bytes, one argument, at most five scripts in a row).
#include "target/chain.hpp"

#include "macho/bytes.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace metalrun::target {

namespace {

using judge::Finding;
using judge::FindingId;
using judge::Severity;
using judge::Step;

constexpr std::size_t kLongestLine = 256; // linux/binfmts.h BINPRM_BUF_SIZE
constexpr std::size_t kMostScripts = 5;   // fs/exec.c: the sixth is refused

Finding problem(FindingId id, std::string message, std::vector<std::string> facts,
                std::string help) {
    return {.id = id,
            .severity = Severity::error,
            .step = Step::launch,
            .outcome = judge::Outcome::no_start,
            .message = std::move(message),
            .facts = std::move(facts),
            .help = std::move(help)};
}

std::string error_text(int number) {
    return std::strerror(number); // NOLINT(concurrency-mt-unsafe): metalrun has one thread
}

// Folders that an ssh session or a launchd job has not in its PATH.
std::string hint_for(System& system, const std::string& name, const SearchPath& search) {
    std::vector<std::string> folders{"/opt/homebrew/bin", "/usr/local/bin"};
    if (!search.home.empty()) {
        folders.push_back(text::concat(search.home, "/.local/bin"));
    }
    for (const std::string& folder : folders) {
        const std::string path = text::concat(folder, "/", name);
        if (system.is_executable(path).value_or(false)) {
            return text::format("{} exists: name it by this path, or add its folder to PATH",
                                text::quote(path));
        }
    }
    return "name the program by its path, or add its folder to PATH";
}

Finding not_in_path(System& system, const std::string& name, const SearchPath& search) {
    if (name.empty()) {
        return problem(FindingId::target_not_found, "the name of the target is empty", {},
                       "name the program by its path, or by its name in PATH");
    }
    return problem(
        FindingId::target_not_found, text::format("cannot find {} in PATH", text::quote(name)),
        {text::format("{}: {}", search.is_default ? "there is no PATH; the default is" : "searched",
                      text::escape(search.path))},
        hint_for(system, name, search));
}

Finding not_executable(const std::string& path, const FileStatus& status) {
    if (status.kind == FileKind::directory) {
        return problem(FindingId::target_not_executable,
                       text::format("cannot run {}: it is a directory", text::quote(path)), {},
                       "name the program inside it");
    }
    if (status.kind != FileKind::regular) {
        return problem(FindingId::target_not_executable,
                       text::format("cannot run {}: it is not a regular file", text::quote(path)),
                       {}, "name a program");
    }
    return problem(
        FindingId::target_not_executable,
        text::format("cannot run {}: you may not execute it", text::quote(path)),
        {text::format("mode {:04o}, owner {}", status.mode, status.owner)},
        text::format("if it is a program, make it executable: chmod +x {}", text::escape(path)));
}

Finding cannot_reach(const std::string& path, int number) {
    if (number == ENOENT || number == ENOTDIR) {
        return problem(FindingId::target_not_found,
                       text::format("cannot run {}: {}", text::quote(path), error_text(number)), {},
                       "check the path");
    }
    return problem(FindingId::target_not_executable,
                   text::format("cannot run {}: {}", text::quote(path), error_text(number)), {},
                   "check the permissions of the file and of the folders above it");
}

// The kernel runs what this user may not read; only a judgement is impossible.
Finding only_executable(const std::string& path) {
    Finding finding = problem(
        FindingId::target_not_executable,
        text::format("{} may be run, but not read: it cannot be told whether it takes the shim",
                     text::quote(path)),
        {}, "make it readable, or use '--stock'");
    finding.step = Step::target;
    finding.outcome = judge::Outcome::stripped;
    return finding;
}

struct InterpreterLine {
    std::string interpreter;
    std::string rest;
    bool has_carriage_return = false;
};

// The interpreter that a script's first line names; a problem if it names none.
std::expected<InterpreterLine, Finding> read_line(const std::string& script, Bytes first) {
    const std::string_view all = as_text(first);
    const std::size_t newline = all.substr(0, kLongestLine).find('\n');
    std::string_view line =
        all.substr(2, (newline == std::string_view::npos ? all.size() : newline) - 2);
    constexpr std::string_view kBlanks = " \t";
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return std::unexpected(problem(
            FindingId::script_without_interpreter_line,
            text::format("script {} names no interpreter in its first line", text::quote(script)),
            {}, "write the interpreter's path behind the '#!'"));
    }
    line = line.substr(begin);
    const std::size_t end = line.find_first_of(kBlanks);
    if (newline == std::string_view::npos && end == std::string_view::npos &&
        all.size() >= kLongestLine) {
        return std::unexpected(
            problem(FindingId::script_line_too_long,
                    text::format("script {} has a first line of more than {} bytes",
                                 text::quote(script), kLongestLine),
                    {}, "give the interpreter a shorter path"));
    }
    InterpreterLine found{.interpreter = std::string(line.substr(0, end))};
    if (end != std::string_view::npos) {
        const std::size_t begin_of_rest = line.find_first_not_of(kBlanks, end);
        found.rest = begin_of_rest == std::string_view::npos ? "" : line.substr(begin_of_rest);
        found.rest.resize(found.rest.find_last_not_of(kBlanks) + 1);
    }
    found.has_carriage_return = found.interpreter.ends_with('\r');
    return found;
}

Finding missing_interpreter(const std::string& script, const InterpreterLine& line, int number) {
    return problem(line.has_carriage_return ? FindingId::script_line_crlf
                                            : FindingId::script_interpreter_missing,
                   text::format("cannot run {}: cannot find its interpreter {}: {}",
                                text::quote(script), text::quote(line.interpreter),
                                error_text(number)),
                   {},
                   line.has_carriage_return
                       ? "the line ends in a carriage return: save the script with Unix line ends"
                       : "install the interpreter, or correct the first line of the script");
}

std::string rights_gained(System& system, const std::string& path, const FileStatus& status) {
    constexpr std::uint32_t kSetUser = 04000;
    constexpr std::uint32_t kSetGroup = 02000;
    constexpr std::uint32_t kGroupRun = 0010;
    const Identity me = system.identity();
    std::string rights;
    if ((status.mode & kSetUser) != 0 && status.owner != me.effective_user) {
        rights = text::format("set-user-id to {}", status.owner);
    } else if ((status.mode & kSetGroup) != 0 && (status.mode & kGroupRun) != 0 &&
               status.group != me.effective_group) {
        rights = text::format("set-group-id to {}", status.group);
    } else if (system.has_capabilities(path)) {
        rights = "file capabilities";
    }
    return rights.empty() || system.ignores_set_id(path) ? std::string{} : rights;
}

Image make_image(System& system, const std::string& path, const File& file) {
    Image image{
        .path = path, .status = file.status(), .content = read_content(file, macho::Depth::decide)};
    image.rights = rights_gained(system, path, image.status);
    image.gains_rights = !image.rights.empty();
    image.quarantined = system.is_quarantined(path);
    const elf::Facts* elf = image.content.elf();
    if (elf != nullptr && !elf->interpreter.empty()) {
        image.loader_missing = !system.stat(elf->interpreter).has_value();
    }
    return image;
}

Finding not_a_program(const std::string& path, const FileStatus& status, Bytes first) {
    if (status.size_bytes == 0) {
        return problem(FindingId::not_a_program,
                       text::format("cannot run {}: the file is empty", text::quote(path)), {},
                       "install it again");
    }
    const bool is_text = std::none_of(first.begin(), first.end(), [](std::byte byte) {
        return byte < std::byte{0x20} && byte != std::byte{'\n'} && byte != std::byte{'\t'} &&
               byte != std::byte{'\r'};
    });
    if (is_text) {
        return problem(
            FindingId::script_without_interpreter_line,
            text::format("cannot run {}: it is a text without a '#!' line", text::quote(path)), {},
            "if it is a script, name its interpreter in the first line, such as '#!/bin/sh'");
    }
    return problem(FindingId::not_a_program,
                   text::format("cannot run {}: it is no program of a kind that is known here",
                                text::quote(path)),
                   {}, "name a program for this machine");
}

// The first bytes of a file, as many as a `#!` line may have.
std::vector<std::byte> first_bytes(const File& file) {
    std::vector<std::byte> bytes(kLongestLine);
    const auto got = file.read_at(0, bytes);
    bytes.resize(got ? *got : 0);
    return bytes;
}

// The program and its arguments that `#!/usr/bin/env …` names, if it is followed: one plain word,
// or
// `-S` and plain words (quotes, backslashes, variables and further options of env are not).
std::vector<std::string> env_words(std::string_view line) {
    std::vector<std::string> words;
    if (line.starts_with("-S")) {
        line.remove_prefix(2);
        constexpr std::string_view kBlanks = " \t";
        for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
             at = line.find_first_not_of(kBlanks)) {
            line.remove_prefix(at);
            const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
            words.emplace_back(line.substr(0, end));
            line.remove_prefix(end);
        }
    } else if (!line.empty()) {
        words.emplace_back(line); // Linux hands all of it to env as one word
    }
    const bool plain = !words.empty() && !words.front().starts_with('-') &&
                       words.front().find('=') == std::string::npos &&
                       std::none_of(words.begin(), words.end(), [&](const std::string& word) {
                           return word.find_first_of("\"'\\$#") != std::string::npos;
                       });
    return plain ? words : std::vector<std::string>{};
}

Finding no_program_for_env(const std::string& script, const std::string& program,
                           const SearchPath& search) {
    const bool carriage_return = program.ends_with('\r');
    return problem(
        carriage_return ? FindingId::script_line_crlf : FindingId::script_interpreter_missing,
        text::format("cannot run {}: env would not find its interpreter {} in PATH",
                     text::quote(script), text::quote(program)),
        {text::format("searched: {}", text::escape(search.path))},
        carriage_return ? "the line ends in a carriage return: save the script with Unix line ends"
                        : "install the interpreter, or add its folder to PATH");
}

// The program that env would start in env's place, or env itself if its line is not followed.
std::expected<std::string, Finding> resolve_env(System& system, Chain& chain,
                                                const std::string& env, const SearchPath& search) {
    const std::string script = chain.links.back().path;
    const std::string& line = chain.links.back().line;
    std::vector<std::string> words = env_words(line);
    if (words.empty()) {
        chain.passes_env = true;
        return env;
    }
    std::string next;
    const std::string& program = words.front();
    if (program.find('/') != std::string::npos) {
        next = program;
    } else {
        const auto candidates = find_candidates(system, program, search);
        if (candidates.empty()) {
            return std::unexpected(no_program_for_env(script, program, search));
        }
        next = candidates.back().path;
    }
    chain.arguments = std::move(words);
    chain.arguments.push_back(script);
    chain.path = next;
    return next;
}

bool is_env(System& system, const std::string& interpreter) {
    return base_name(interpreter) == "env" ||
           base_name(system.real_path(interpreter).value_or(std::string{})) == "env";
}

// Opens one link of the chain and says what it is. Returns the next path for a script.
std::expected<std::optional<std::string>, Finding>
follow(System& system, Chain& chain, const std::string& path, const SearchPath& search) {
    auto file = system.open(path);
    if (!file && file.error() == EACCES && system.is_executable(path).value_or(false)) {
        return std::unexpected(only_executable(path));
    }
    if (!file) {
        return std::unexpected(cannot_reach(path, file.error()));
    }
    const FileStatus status = (*file)->status();
    const std::vector<std::byte> first = first_bytes(**file);
    chain.names.push_back(base_name(path));
    if (as_text(first).starts_with("#!")) {
        chain.links.push_back(
            {.path = path, .line = {}, .kind = LinkKind::script, .status = status});
        auto line = read_line(path, first);
        if (!line) {
            return std::unexpected(std::move(line.error()));
        }
        if (const auto there = system.stat(line->interpreter); !there) {
            return std::unexpected(missing_interpreter(path, *line, there.error()));
        }
        chain.links.back().line = line->rest;
        if (is_env(system, line->interpreter)) {
            if (chain.links.size() == 1) {
                return resolve_env(system, chain, line->interpreter, search);
            }
            chain.passes_env = true;
        }
        return line->interpreter;
    }
    chain.links.push_back({.path = path, .line = {}, .kind = LinkKind::program, .status = status});
    if (!elf::is_elf(first) && !macho::is_macho(first)) {
        return std::unexpected(not_a_program(path, status, first));
    }
    chain.image = make_image(system, path, **file);
    return std::nullopt;
}

std::optional<Finding> check_run(System& system, const std::string& path) {
    const auto status = system.stat(path);
    if (!status) {
        return cannot_reach(path, status.error());
    }
    if (status->kind != FileKind::regular || !system.is_executable(path).value_or(false)) {
        return not_executable(path, *status);
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> interpreter_arguments(System& system, const std::string& path) {
    const auto file = system.open(path);
    if (!file || (*file)->status().kind != FileKind::regular) {
        return std::nullopt;
    }
    const std::vector<std::byte> first = first_bytes(**file);
    if (!as_text(first).starts_with("#!")) {
        return std::nullopt;
    }
    auto line = read_line(path, first);
    return line ? std::optional(std::move(line->rest)) : std::nullopt;
}

Chain resolve(System& system, const std::string& typed, const SearchPath& search) {
    Chain chain{.typed = typed};
    chain.names.push_back(base_name(typed));
    if (typed.find('/') != std::string::npos) {
        chain.path = typed;
    } else {
        const auto candidates =
            typed.empty() ? std::vector<Candidate>{} : find_candidates(system, typed, search);
        if (candidates.empty()) {
            chain.problem = not_in_path(system, typed, search);
            return chain;
        }
        chain.path =
            candidates.back().executable ? candidates.back().path : candidates.front().path;
    }
    std::string next = chain.path;
    while (true) {
        if (auto wrong = check_run(system, next)) {
            chain.problem = std::move(wrong);
            return chain;
        }
        if (chain.links.size() > kMostScripts) {
            chain.problem =
                problem(FindingId::script_interpreter_is_script,
                        text::format("cannot run {}: more than {} scripts are each other's "
                                     "interpreter",
                                     text::quote(chain.path), kMostScripts),
                        {}, "name the real interpreter in the first line");
            return chain;
        }
        auto followed = follow(system, chain, next, search);
        if (!followed) {
            chain.problem = std::move(followed.error());
            return chain;
        }
        const std::optional<std::string>& further = *followed;
        if (!further) {
            return chain;
        }
        next = *further;
    }
}

Chain inspect(System& system, const std::string& path) {
    Chain chain{.typed = path, .path = path};
    chain.names.push_back(base_name(path));
    const auto status = system.stat(path);
    if (!status) {
        chain.problem = cannot_reach(path, status.error());
        return chain;
    }
    if (status->kind != FileKind::regular) {
        chain.problem = not_executable(path, *status);
        return chain;
    }
    auto followed = follow(system, chain, path, {});
    if (!followed) {
        chain.problem = std::move(followed.error());
        if (chain.problem->id == FindingId::script_without_interpreter_line) {
            chain.problem->id = FindingId::not_a_program; // nobody said that it is a script
        }
    } else if (const std::optional<std::string>& interpreter = *followed; interpreter) {
        chain.problem =
            problem(FindingId::not_a_program,
                    text::format("{} is a script; its interpreter {} is judged by its own "
                                 "path",
                                 text::quote(path), text::quote(*interpreter)),
                    {}, "check the interpreter");
    }
    return chain;
}

} // namespace metalrun::target
