// SPDX-License-Identifier: MIT
//
// What will be done: the profile, the command line and the host folded into one value, each part
// with its origin. Later wins: built-in default < profile < quirk < command line.
#pragma once

#include "cli/command_line.hpp"
#include "judge/host_facts.hpp"
#include "profile/profile.hpp"
#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::launch {

/// The origin of a value that neither the command line nor the profile gives.
inline constexpr std::string_view kBuiltInDefault = "built-in default";
inline constexpr std::string_view kCommandLine = "command line";

/// A value and where it came from: "default", "command line", or the profile's name.
template <class T> struct Effective {
    T value{};
    std::string origin;
};

/// One change of the target's environment, in the order in which it is applied.
struct Change {
    std::string name;
    std::optional<std::string> value; ///< absent: unset
    std::string origin;
};

struct AppliedQuirk {
    std::string guest_os;
    profile::QuirkLevel level = profile::QuirkLevel::note;
    std::string note;
};

/// What of the host decides: seen, and made of it.
struct HostSeen {
    std::string os;           ///< version; empty: unknown
    std::string chip;         ///< brand; empty: unknown
    std::uint16_t family = 0; ///< of the chip (family_of_chip)
};

struct Plan {
    std::string profile;        ///< name
    std::string profile_origin; ///< file, or "built-in"
    profile::Choice choice;     ///< why this profile
    HostSeen host;
    Effective<profile::Family> family; ///< as asked
    std::uint16_t ceiling = 0;         ///< what the shim gets: 1001…1010, or 0 for stock
    std::uint16_t lowered_from = 0;    ///< the ceiling asked for, if the host's family is lower
    bool above_host = false;           ///< an explicit family above what the host is known to have
    Effective<std::uint64_t> threadgroup_memory; ///< bytes; 0 = stock
    Effective<std::uint64_t> working_set;        ///< bytes; 0 = stock
    Effective<bool> never_above_host;
    Effective<profile::Hook> hook;
    Effective<profile::Children> children;
    Effective<profile::OnRefusal> on_refusal;
    Effective<profile::WhenUncertain> when_uncertain;
    Effective<profile::Where> where;
    Effective<std::string> shim; ///< absolute path
    std::string shim_sha256;     ///< expected digest of the slice, or empty
    profile::WorkloadStatus status = profile::WorkloadStatus::untested;
    std::string status_reason;
    bool stock_asked = false;
    bool family_asked = false; ///< --family was given
    bool verify = false;
    std::optional<cli::Arch> arch; ///< --arch
    std::vector<Change> environment;
    std::vector<AppliedQuirk> quirks;
    std::vector<AppliedQuirk> skipped_quirks; ///< for other guests, or this one's OS is unknown
};

/// The Apple family of a host chip by its brand string ("Apple M2 Pro (Virtual)"): M1 1007, M2
/// 1008, M3 and M4 1009, M5 1010; anything else 1007, the lowest that every M-series chip has.
[[nodiscard]] std::uint16_t family_of_chip(const std::string& brand);

/// True if the brand string is one that family_of_chip() knows.
[[nodiscard]] bool is_known_chip(const std::string& brand);

/// Folds the parts. `installed_shim` is used when neither the command line nor the profile names a
/// library. Errors: Errc::usage or Errc::profile for values that contradict each other or the host.
[[nodiscard]] Result<Plan> make_plan(const profile::Profile& chosen, const cli::Request& request,
                                     const HostFacts& host, const std::string& installed_shim);

} // namespace metalrun::launch
