// SPDX-License-Identifier: MIT
#include "target/chain.hpp"

#include "macho/bytes.hpp"
#include "report/text.hpp"
#include "target/bundle.hpp"
#include "target/problem.hpp"
#include "target/script.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace metalrun::target {

namespace {

using judge::Finding;
using judge::FindingId;

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
        const auto status = system.stat(path);
        if (status && status->kind == FileKind::regular &&
            system.is_executable(path).value_or(false)) {
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
                   number == EACCES || number == EPERM
                       ? "check the permissions of the file and of the folders above it"
                       : "correct the path, or the symbolic links in it");
}

// The kernel runs what this user may not read; only a judgement is impossible.
Finding only_executable(const std::string& path) {
    Finding finding = problem(
        FindingId::target_not_executable,
        text::format("{} may be run, but not read: it cannot be told whether it takes the shim",
                     text::quote(path)),
        {}, "make it readable, or use '--stock'");
    finding.step = judge::Step::target;
    finding.outcome = judge::Outcome::stripped;
    return finding;
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
    std::vector<std::string> words = env_words(line, search.kernel);
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

std::size_t script_count(const Chain& chain) {
    return static_cast<std::size_t>(std::ranges::count(chain.links, LinkKind::script, &Link::kind));
}

bool is_macho_file(System& system, const std::string& path) {
    const auto file = system.open(path);
    return file && macho::is_macho(first_bytes(**file));
}

// On another machine the interpreter is another file than the one of this name here; only a file
// for macOS can be the one that is meant.
std::expected<std::optional<std::string>, Finding> follow_elsewhere(System& system, Chain& chain,
                                                                    const InterpreterLine& line) {
    const std::string script = chain.links.back().path;
    std::string interpreter = line.interpreter;
    if (base_name(interpreter) == "env") {
        chain.arguments = env_words(line.rest, HostFacts::Kernel::darwin);
        chain.passes_env = chain.arguments.empty();
        if (!chain.passes_env) {
            interpreter = chain.arguments.front();
            chain.path = interpreter;
            chain.arguments.push_back(script);
        }
    }
    if (interpreter.ends_with('\r')) {
        return std::unexpected(missing_interpreter(
            script, {.interpreter = interpreter, .has_carriage_return = true}, ENOENT));
    }
    if (interpreter.find('/') != std::string::npos && is_macho_file(system, interpreter)) {
        return interpreter;
    }
    chain.names.push_back(base_name(interpreter));
    chain.links.push_back(
        {.path = interpreter, .line = {}, .kind = LinkKind::program, .status = {}});
    chain.image =
        Image{.path = std::move(interpreter), .status = {}, .content = {}, .elsewhere = true};
    return std::nullopt;
}

// From a script to its interpreter: the next path, or nothing if it is not on this machine.
std::expected<std::optional<std::string>, Finding>
follow_script(System& system, Chain& chain, Bytes first, const SearchPath& search) {
    const std::string path = chain.links.back().path;
    auto line = parse_interpreter_line(path, first, search.kernel);
    if (!line) {
        return std::unexpected(std::move(line.error()));
    }
    chain.links.back().line = line->rest;
    if (search.elsewhere) {
        return follow_elsewhere(system, chain, *line);
    }
    if (const auto there = system.stat(line->interpreter); !there) {
        return std::unexpected(missing_interpreter(path, *line, there.error()));
    }
    if (is_env(system, line->interpreter)) {
        if (script_count(chain) == 1) {
            return resolve_env(system, chain, line->interpreter, search);
        }
        chain.passes_env = true;
    }
    return line->interpreter;
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
        return follow_script(system, chain, first, search);
    }
    chain.links.push_back({.path = path, .line = {}, .kind = LinkKind::program, .status = status});
    if (!elf::is_elf(first) && !macho::is_macho(first)) {
        return std::unexpected(not_a_program(path, status, first));
    }
    // A Mac's program that is judged elsewhere is started by somebody else than who asks.
    const bool is_guests =
        search.elsewhere || (macho::is_macho(first) && search.kernel == HostFacts::Kernel::linux);
    chain.image = read_image(system, path, **file, is_guests ? Starter::unknown : Starter::caller);
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

// A bundle's main executable takes its place.
std::optional<Finding> enter_bundle(System& system, Chain& chain) {
    auto executable = find_bundle_executable(system, chain.path);
    if (!executable) {
        return std::move(executable.error());
    }
    chain.links.push_back({.path = chain.path,
                           .line = {},
                           .kind = LinkKind::bundle,
                           .status = system.stat(chain.path).value_or(FileStatus{})});
    chain.path = std::move(*executable);
    return std::nullopt;
}

Finding too_many_scripts(const Chain& chain, std::size_t most) {
    return problem(FindingId::script_interpreter_is_script,
                   most == 1
                       ? text::format("cannot run {}: its interpreter {} is a script, too",
                                      text::quote(chain.path), text::quote(chain.links.back().path))
                       : text::format("cannot run {}: more than {} scripts are each other's "
                                      "interpreter",
                                      text::quote(chain.path), most),
                   {}, "name the real interpreter in the first line");
}

enum class RunBit : std::uint8_t { needed, ignored };

// From chain.path to the image. The run bit of the first file may be ignored.
std::optional<Finding> follow_to_image(System& system, Chain& chain, const SearchPath& search,
                                       RunBit first) {
    const std::size_t most = most_scripts(search.kernel);
    std::string next = chain.path;
    std::size_t scripts = 0;
    for (RunBit run_bit = first;; run_bit = RunBit::needed) {
        if (run_bit == RunBit::needed) {
            if (auto wrong = check_run(system, next)) {
                return wrong;
            }
        }
        const std::string started = chain.path;
        auto followed = follow(system, chain, next, search);
        if (!followed) {
            return std::move(followed.error());
        }
        const std::optional<std::string>& further = *followed;
        scripts += chain.links.back().kind == LinkKind::script ? 1U : 0U;
        if (scripts > most) {
            return too_many_scripts(chain, most);
        }
        if (!further) {
            return std::nullopt;
        }
        next = *further;
        scripts = chain.path == started ? scripts : 0; // env starts anew
    }
}

} // namespace

std::string_view to_string(LinkKind kind) {
    static constexpr std::array<std::string_view, 3> kNames{"program", "script", "bundle"};
    return kNames.at(static_cast<std::size_t>(kind));
}

std::optional<std::string> interpreter_arguments(System& system, const std::string& path) {
    const auto file = system.open(path);
    if (!file || (*file)->status().kind != FileKind::regular) {
        return std::nullopt;
    }
    const std::vector<std::byte> first = first_bytes(**file);
    if (!as_text(first).starts_with("#!")) {
        return std::nullopt;
    }
    auto line = parse_interpreter_line(path, first, HostFacts::Kernel::linux);
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
    if (is_bundle(system, chain.path)) {
        chain.problem = enter_bundle(system, chain);
    }
    if (!chain.problem) {
        chain.problem = follow_to_image(system, chain, search, RunBit::needed);
    }
    return chain;
}

Chain inspect(System& system, const std::string& path, const SearchPath& search) {
    Chain chain{.typed = path, .path = path};
    chain.names.push_back(base_name(path));
    if (is_bundle(system, path)) {
        chain.problem = enter_bundle(system, chain);
        if (chain.problem) {
            return chain;
        }
    }
    const auto status = system.stat(chain.path);
    if (!status) {
        chain.problem = cannot_reach(chain.path, status.error());
        return chain;
    }
    if (status->kind != FileKind::regular) {
        chain.problem = not_executable(chain.path, *status);
        if (status->kind == FileKind::directory) {
            chain.problem->help = "to judge the programs in it, use '--recursive'";
        }
        return chain;
    }
    chain.problem = follow_to_image(system, chain, search, RunBit::ignored);
    if (chain.problem && chain.problem->id == FindingId::script_without_interpreter_line) {
        chain.problem->id = FindingId::not_a_program; // nobody said that it is a script
    }
    return chain;
}

} // namespace metalrun::target
