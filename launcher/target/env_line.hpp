// SPDX-License-Identifier: MIT
//
// What env(1) makes of the words that a `#!` line hands to it, without running it. GNU: coreutils'
// manual, "env invocation". BSD: env(1) of macOS (shell_cmds), which reads its options by getopt(3)
// and carries `-u` out at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::target {

enum class EnvKind : std::uint8_t { gnu, bsd };

/// One change of the environment that env hands on.
struct EnvironmentChange {
    enum class Kind : std::uint8_t { clear, unset, set };
    Kind kind = Kind::clear;
    std::string name = {};
    std::string value = {};

    bool operator==(const EnvironmentChange&) const = default;
};

/// The value of a variable as env is started; nothing: it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

struct EnvCommand {
    std::vector<std::string> words;              ///< the program as it is named, its arguments
    std::vector<EnvironmentChange> changes = {}; ///< in the order of their effect
    std::optional<std::string> search_path = {}; ///< `-P` of BSD: in place of PATH
};

/// Strings behind `-S` that are taken apart one out of the other, and the bytes of all words.
inline constexpr std::size_t kMostSplits = 16;
inline constexpr std::size_t kMostEnvBytes = std::size_t{1} << 20;

/// `words` stand between env and the script's path. `-v` has no effect here: env only tells what it
/// does. An empty `variable` knows no variable: then `${NAME}` is not followed. Errors: what is not
/// followed, such as "the option '-C'"; nothing that env itself refuses is followed.
[[nodiscard]] std::expected<EnvCommand, std::string>
parse_env_line(std::vector<std::string> words, EnvKind kind, const VariableLookup& variable);

} // namespace metalrun::target
