// SPDX-License-Identifier: MIT
//
// The option table: the one list from which the command line is cut, the help is printed and
// misspelt words are matched.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace metalrun::cli {

/// What metalrun is asked to do. `run` has no word of its own: it is what happens to a TARGET.
enum class Command : std::uint8_t {
    run,
    check,
    probe,
    doctor,
    profile,
    status,
    agent,
    host,
    bench,
    help,
    version,
};

/// A set of commands, one bit each.
using CommandSet = std::uint16_t;
inline constexpr CommandSet kForRun = 1U << 0U;
inline constexpr CommandSet kForCheck = 1U << 1U;
inline constexpr CommandSet kForProbe = 1U << 2U;
inline constexpr CommandSet kForProfile = 1U << 3U;
inline constexpr CommandSet kForAgent = 1U << 4U;
inline constexpr CommandSet kForBench = 1U << 5U;
inline constexpr CommandSet kForStatus = 1U << 6U;
inline constexpr CommandSet kForDoctor = 1U << 7U;
/// Those that the policy options belong to.
inline constexpr CommandSet kForPolicy = kForRun | kForCheck | kForProbe | kForAgent | kForBench;
inline constexpr CommandSet kForAll = 0xFFFF;

struct Option {
    std::string_view name;  ///< long name without dashes
    char letter = 0;        ///< short name, or 0
    std::string_view value; ///< what the value is called in the help; empty: a flag
    std::string_view help;
    CommandSet commands = kForRun;
    bool adds_up = false; ///< each use counts; else the last wins
};

[[nodiscard]] std::span<const Option> options();

/// The command that a bare first operand names, or `run` if it names none.
[[nodiscard]] Command command_of(std::string_view word);

/// The word for a command.
[[nodiscard]] std::string_view to_string(Command command);

/// The set of this command alone.
[[nodiscard]] CommandSet bit_of(Command command);

/// The text of `metalrun --help`, or of `metalrun COMMAND --help`.
[[nodiscard]] std::string render_help(Command command);

/// The usage lines alone, for a command line that says nothing.
[[nodiscard]] std::string render_usage();

} // namespace metalrun::cli
