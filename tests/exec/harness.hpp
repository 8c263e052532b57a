// SPDX-License-Identifier: MIT
//
// Runs whole programs for the tests: exact argument and environment vectors, descriptors, signals
// and identity of the child; standard output, standard error and the wait status apart. No shell
// anywhere.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <sys/types.h>

namespace metalrun::test {

using Strings = std::vector<std::string>;

/// Where the build put the programs.
struct Programs {
    std::string metalrun;
    std::string shim;
    std::string probe;
    std::string standin;
    std::string simulated_metal;
    std::string targets; ///< folder with show, exit_with, die_by, then and their static twins
};

[[nodiscard]] const Programs& programs();

/// Path of one of the programs of tests/exec/targets.
[[nodiscard]] std::string target(std::string_view name);

/// PATH only (no HOME: no user profiles, no receipts), and what a sanitizer needs.
[[nodiscard]] Strings base_environment();

/// What was built with a sanitizer cannot be traced or set-id reliably.
[[nodiscard]] bool is_sanitized();

struct Command {
    Strings arguments; ///< argv, byte for byte
    std::string file;  ///< path for execve; empty: arguments[0]
    Strings environment = base_environment();
    std::string directory;             ///< current directory; empty: stay
    std::string input;                 ///< what standard input gives
    std::vector<int> descriptors;      ///< further numbers, open on /dev/null
    std::function<void()> before_exec; ///< last step in the child
};

struct Outcome {
    pid_t pid = 0;
    int wait_status = 0;
    std::string out;
    std::string err;

    /// Exit status, or -1 when a signal ended it.
    [[nodiscard]] int status() const;
    /// Signal that ended it, or 0.
    [[nodiscard]] int signal() const;
};

/// Runs and waits. Throws std::runtime_error when the child could not be started.
[[nodiscard]] Outcome run(const Command& command);

/// `metalrun` with these arguments behind its name.
[[nodiscard]] Command metalrun_command(Strings arguments);

[[nodiscard]] bool contains(std::string_view text, std::string_view part);
[[nodiscard]] Strings lines_of(std::string_view text);
[[nodiscard]] std::string read_file(const std::string& path);
[[nodiscard]] bool exists(const std::string& path);
/// Value of NAME, or nothing; the first entry counts.
[[nodiscard]] std::optional<std::string> value_of(const Strings& environment,
                                                  std::string_view name);
/// All entries but those of these names.
[[nodiscard]] Strings without(const Strings& environment, const Strings& names);

/// A folder of mode 0700 that is removed at the end.
class TempFolder {
public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string operator/(std::string_view name) const;
    /// Writes a file (folders above it are made) and gives its path.
    std::string write(std::string_view name, std::string_view bytes, mode_t mode = 0644) const;
    std::string copy(const std::string& source, std::string_view name, mode_t mode = 0755) const;
    std::string make_folder(std::string_view name, mode_t mode = 0755) const;
    std::string make_link(const std::string& destination, std::string_view name) const;

private:
    std::string path_;
};

/// What `show` saw of its own start.
struct Report {
    pid_t pid = 0;
    pid_t ppid = 0;
    Strings arguments;
    Strings environment;
    Strings libraries; ///< paths of mapped shared objects
    std::string cwd;
    std::string exe;
    std::vector<int> descriptors;
    std::vector<int> blocked;
    std::vector<int> ignored;
    std::vector<int> handled;
    Strings others; ///< lines that must not depend on who started it: uid, umask, limits …

    [[nodiscard]] bool has_library(const std::string& path) const;
};

[[nodiscard]] Report parse_report(const std::string& text);

struct Shown {
    Outcome outcome;
    std::optional<Report> report; ///< nothing: show was not started
    Strings given;                ///< the environment that the command was started with
};

/// Runs a command that starts `show`; SHOW_REPORT is the last entry of its environment.
[[nodiscard]] Shown run_show(const TempFolder& folder, Command command);

/// The ceiling that the target was given: "none" if there is none, and why if it was not started.
[[nodiscard]] std::string family_of(const Shown& shown);

/// Starts a file, or a name in this PATH, with nothing else in its environment.
[[nodiscard]] Command start_file(const std::string& path, Strings arguments,
                                 const std::string& search_path);

/// `text` with every `from` become `to`.
[[nodiscard]] std::string replace_all(std::string text, const std::string& from,
                                      const std::string& to);

/// ELF header bytes: another machine, another class.
[[nodiscard]] std::string with_machine(std::string elf, unsigned machine);
[[nodiscard]] unsigned foreign_machine();
[[nodiscard]] std::string with_class_32(std::string elf);

[[nodiscard]] std::string printed(const Strings& strings);
[[nodiscard]] std::string printed(const std::vector<int>& numbers);

/// False, with a printed line, when the test cannot run here.
[[nodiscard]] bool needs_root(std::string_view what);

} // namespace metalrun::test

/// Lists are printed entry by entry, with everything but plain text escaped.
template <> struct doctest::StringMaker<metalrun::test::Strings> {
    static String convert(const metalrun::test::Strings& strings) {
        return metalrun::test::printed(strings).c_str();
    }
};

template <> struct doctest::StringMaker<std::vector<int>> {
    static String convert(const std::vector<int>& numbers) {
        return metalrun::test::printed(numbers).c_str();
    }
};

template <> struct doctest::StringMaker<std::optional<std::string>> {
    static String convert(const std::optional<std::string>& text) {
        return text ? text->c_str() : "(nothing)";
    }
};
