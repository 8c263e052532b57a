// SPDX-License-Identifier: MIT
#include "target/chain_problems.hpp"

#include "report/text.hpp"
#include "target/problem.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

namespace metalrun::target {

using judge::Finding;
using judge::FindingId;

namespace {

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

// The file that was meant when the interpreter's path has blanks; empty: there is none.
std::string path_with_blank(System& system, const InterpreterLine& line) {
    constexpr std::string_view kBlanks = " \t";
    constexpr int kMostBlanks = 8;
    const std::string all = line.interpreter + " " + line.rest;
    std::size_t end = line.interpreter.size();
    for (int blanks = 0; blanks < kMostBlanks && end < all.size(); ++blanks) {
        end = std::min(all.find_first_of(kBlanks, end + 1), all.size());
        std::string path = all.substr(0, end);
        if (const auto status = system.stat(path); status && status->kind == FileKind::regular) {
            return path;
        }
    }
    return {};
}

} // namespace

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
        return problem(
            FindingId::target_not_found,
            text::format("cannot run {}: {}", text::quote(path), text::error_text(number)), {},
            "check the path");
    }
    return problem(FindingId::target_not_executable,
                   text::format("cannot run {}: {}", text::quote(path), text::error_text(number)),
                   {},
                   number == EACCES || number == EPERM
                       ? "check the permissions of the file and of the folders above it"
                       : "correct the path, or the symbolic links in it");
}

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

Finding missing_interpreter(System& system, const std::string& script, const InterpreterLine& line,
                            int number) {
    Finding finding = problem(
        line.has_carriage_return ? FindingId::script_line_crlf
                                 : FindingId::script_interpreter_missing,
        text::format("cannot run {}: cannot find its interpreter {}: {}", text::quote(script),
                     text::quote(line.interpreter), text::error_text(number)),
        {},
        line.has_carriage_return
            ? "the line ends in a carriage return: save the script with Unix line ends"
            : "install the interpreter, or correct the first line of the script");
    if (const std::string whole = path_with_blank(system, line); !whole.empty()) {
        finding.facts.push_back(
            text::format("the line is cut at the blank: {} exists", text::quote(whole)));
        finding.help = "a '#!' line cannot name a path with a blank: name a symbolic link without "
                       "one";
    }
    return finding;
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

Finding no_program_for_env(const std::string& script, const std::string& program,
                           const SearchPath& search) {
    const bool carriage_return = program.ends_with('\r');
    return problem(
        carriage_return ? FindingId::script_line_crlf : FindingId::script_interpreter_missing,
        text::format("cannot run {}: env would not find its interpreter {} in PATH",
                     text::quote(script), text::quote(program)),
        {text::format("searched: {}", text::escape(search.path))},
        carriage_return ? "the line ends in a carriage return: save the script with Unix line ends"
        : program.find(' ') != std::string::npos
            ? "Linux hands the line to env as one word: put '-S' behind env"
            : "install the interpreter, or add its folder to PATH");
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

Finding leads_in_circles(const Chain& chain, const std::string& script) {
    return problem(FindingId::script_interpreter_is_script,
                   text::format("cannot run {}: its interpreter, found by env, leads back to {}",
                                text::quote(chain.links.front().path), text::quote(script)),
                   {}, "name the real interpreter by its path in the first line");
}

} // namespace metalrun::target
