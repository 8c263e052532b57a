// SPDX-License-Identifier: MIT
//
// What every command knows before it begins: the system, the inherited environment, where metalrun
// is installed, and who may be trusted.
#pragma once

#include "cli/command_line.hpp"
#include "judge/judge.hpp"
#include "launch/environment.hpp"
#include "launch/plan.hpp"
#include "profile/catalogue.hpp"
#include "profile/trust.hpp"
#include "report/check_report.hpp"
#include "report/diagnostic.hpp"
#include "result.hpp"
#include "system/system.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::commands {

/// The two libraries of macOS: arm64 alone, or arm64, arm64e and x86_64.
enum class Library : std::uint8_t { thin, universal };

struct Session {
    System& system;
    std::vector<std::string> environment; ///< inherited, NAME=VALUE
    std::string executable;               ///< real path of metalrun
    FileStatus executable_status;
    std::string prefix; ///< the folder above bin
    HostFacts host;
    mutable bool output_failed = false;

    /// On if standard error is a terminal that has colours and NO_COLOR is not set.
    [[nodiscard]] report::Colour colour() const;
    /// The same for standard output, and its width if it is a terminal.
    [[nodiscard]] report::OutputStyle output_style() const;
    /// The path of the installed library for a kernel; on Linux there is one, whatever is asked
    /// for.
    [[nodiscard]] std::string installed_shim(HostFacts::Kernel kernel, Library library) const;
    /// The path of the probe.
    [[nodiscard]] std::string probe() const;
    /// To standard output; what cannot be written is remembered in `output_failed`.
    void print(std::string_view text) const;
    void print_error(std::string_view text) const; ///< to standard error
};

[[nodiscard]] Result<Session> open_session(System& system, std::vector<std::string> environment);

/// The profile named by --profile or $METALRUN_PROFILE, or nothing if neither is given.
[[nodiscard]] Result<std::optional<profile::Chosen>>
load_explicit_profile(const Session& session, const cli::Request& request,
                      profile::Catalogue& catalogue);

/// `path` if it is absolute, else below the current directory. Errors: Errc::system.
[[nodiscard]] Result<std::string> make_absolute(System& system, const std::string& path);

/// What was inherited in the insertion variable, without known shims.
[[nodiscard]] launch::Insertion read_inherited_insertion(const Session& session,
                                                         const std::string& working_directory,
                                                         const FileStatus* chosen_shim);

} // namespace metalrun::commands
