// SPDX-License-Identifier: MIT
//
// argv -> Request (metalrun(1), SYNOPSIS). Options end at the first operand or at `--`; everything
// behind it belongs to the target, byte for byte. command_line.cpp is the only user of
// Boost.Program_options.
#pragma once

#include "cli/options.hpp"
#include "profile/profile.hpp"
#include "result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace metalrun::cli {

enum class Arch : std::uint8_t { arm64, arm64e, x86_64 };

/// One -e or -u, in the order given.
struct EnvironmentChange {
    std::string name;
    std::optional<std::string> value; ///< absent: unset
};

/// Options that say what may be inserted where; an absent one leaves it to the profile.
struct Policy {
    std::optional<std::string> profile;
    std::optional<std::string> shim;
    std::optional<profile::Family> family;
    std::optional<profile::Limit> threadgroup_memory;
    std::optional<profile::Limit> working_set;
    std::optional<profile::Children> children;
    std::optional<profile::WhenUncertain> when_uncertain;
    std::optional<Arch> arch;
    bool stock = false;
    bool or_stock = false;
    bool anywhere = false;
    bool verify = false;
};

struct Request {
    Command command = Command::run;
    Command help_about = Command::run; ///< for Command::help: which help
    Policy policy;
    std::vector<EnvironmentChange> environment;
    std::optional<std::string> chdir;
    std::optional<std::string> argv0;
    std::optional<std::string> host_facts; ///< check: facts of another machine
    bool dry_run = false;
    bool json = false;
    bool recursive = false; ///< check: look through folders
    bool verbose = false;
    bool quiet = false;
    bool masquerades = false;          ///< started through a link named like the target
    std::vector<std::string> operands; ///< run: the target and its arguments
};

/// Parses the arguments behind argv[0]. A command line without any answers Errc::usage with the
/// usage lines as message and nothing else. Errors: Errc::usage.
[[nodiscard]] Result<Request> parse(const std::vector<std::string>& arguments);

} // namespace metalrun::cli
