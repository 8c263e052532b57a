// SPDX-License-Identifier: MIT
//
// The environment as a value: composed from what was inherited and handed to exec; setenv is never
// called (metalrun(1), ENVIRONMENT).
#pragma once

#include "judge/host_facts.hpp"
#include "launch/plan.hpp"
#include "target/env_line.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::launch {

/// The value of the first entry NAME=VALUE, or nothing.
[[nodiscard]] std::optional<std::string_view>
find_variable(std::span<const std::string> environment, std::string_view name);

/// The value that the loader reads: ld.so takes the last entry of a name, dyld the first.
[[nodiscard]] std::optional<std::string_view>
find_insertion(std::span<const std::string> environment, HostFacts::Kernel kernel);

/// Sets or unsets one name. A set name keeps the place of its first entry and loses the others.
void apply_change(std::vector<std::string>& environment, const std::string& name,
                  const std::optional<std::string>& value);

/// The variable that inserts libraries: DYLD_INSERT_LIBRARIES, or LD_PRELOAD on Linux.
[[nodiscard]] std::string_view insertion_variable(HostFacts::Kernel kernel);

/// The inherited libraries to insert, in order: absolute, without empty and repeated elements and
/// without those that `is_known_shim` names. ld.so also splits at blanks, dyld at colons only; on
/// Linux a name without a slash is searched by ld.so and stays as it is.
struct Insertion {
    std::vector<std::string> elements;
    std::vector<std::string> removed_shims;
    bool had_empty = false;
    /// A shim was inherited, but not from another metalrun: the session sets it for every program.
    bool is_session_wide = false;
    bool is_from_metalrun = false; ///< a shim was inherited from another metalrun
    bool has_ld_preload = false;   ///< macOS: LD_PRELOAD is set, which dyld does not know
};
[[nodiscard]] Insertion
read_insertion(std::string_view value, HostFacts::Kernel kernel,
               const std::string& working_directory,
               const std::function<bool(const std::string&)>& is_known_shim);

/// What the shim is told, for a start that injects.
struct ShimSettings {
    std::string library; ///< absolute path
    std::string receipt; ///< absolute path, or empty
    bool verbose = false;
    bool children_inherit = false;
};

/// Inherited, less what an earlier start may have left for a shim, changed by the plan and then by
/// the `#!/usr/bin/env` lines on the way (`by_env`); then, only if `settings` is given, the
/// variables of the shim.
[[nodiscard]] std::vector<std::string>
compose_environment(std::span<const std::string> inherited, const Plan& plan,
                    const Insertion& insertion, HostFacts::Kernel kernel,
                    const std::optional<ShimSettings>& settings,
                    std::span<const target::EnvironmentChange> by_env = {});

} // namespace metalrun::launch
