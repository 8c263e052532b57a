// SPDX-License-Identifier: MIT
//
// A profile as a value: what metalrun.toml(5) describes, schema 1. Every optional member that is
// absent was not written in the profile; the built-in defaults are applied by the plan
// (launch/plan.hpp), so that `profile show` can tell the origin of each value.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metalrun::profile {

/// The ceiling up to which Apple-family questions are answered yes.
struct Family {
    enum class Kind : std::uint8_t { stock, host, ceiling };
    Kind kind = Kind::stock;
    std::uint16_t ceiling = 0; ///< 1001…1010 for Kind::ceiling, else 0
    bool operator==(const Family&) const = default;
};

/// A limit that is only ever raised; 0 means stock.
struct Limit {
    std::uint64_t bytes = 0;
    bool operator==(const Limit&) const = default;
};

enum class Hook : std::uint8_t { early, late };
enum class Children : std::uint8_t { stock, inherit, inherit_if_safe };
enum class OnRefusal : std::uint8_t { fail, stock };
enum class WhenUncertain : std::uint8_t { refuse, inject };
enum class Where : std::uint8_t { guest, anywhere };
enum class WorkloadStatus : std::uint8_t { beneficial, no_benefit, unsafe, blocked, untested };
enum class QuirkLevel : std::uint8_t { note, warn, refuse };

using Variable = std::pair<std::string, std::string>;

struct Metal {
    std::optional<Family> apple_family;
    std::optional<Limit> threadgroup_memory; ///< at most 64 KiB
    std::optional<Limit> working_set;        ///< the plan checks it against the guest's memory
    std::optional<bool> never_above_host;
    std::optional<Hook> hook;
    bool operator==(const Metal&) const = default;
};

struct Shim {
    std::optional<std::string> path;          ///< absolute: resolved against the profile's folder
    std::optional<std::string> sha256_arm64;  ///< 64 lower-case hex digits
    std::optional<std::string> sha256_arm64e; ///< likewise
    std::optional<std::string> sha256_x86_64; ///< likewise; also that of an ELF library
    bool operator==(const Shim&) const = default;
};

struct Target {
    std::optional<std::string> program;
    std::vector<std::string> arguments;
    std::optional<std::string> directory; ///< absolute: resolved against the profile's folder
    std::optional<std::string> argv0;
    bool operator==(const Target&) const = default;
};

struct Environment {
    std::vector<Variable> set; ///< in the order of the file
    std::vector<std::string> unset;
    bool operator==(const Environment&) const = default;
};

struct Policy {
    std::optional<OnRefusal> on_refusal;
    std::optional<WhenUncertain> when_uncertain;
    std::optional<Children> children;
    std::optional<Where> where;
    bool operator==(const Policy&) const = default;
};

/// A profile fits if any of its patterns does.
struct Match {
    std::vector<std::string> programs;  ///< shell patterns on base names
    std::vector<std::string> arguments; ///< shell patterns on the leading arguments, joined by
                                        ///< blanks, alone and with the program's name before them
    std::vector<std::string> libraries; ///< shell patterns on the base names of needed libraries
    bool operator==(const Match&) const = default;
};

/// One published measurement; every member is text as it was published.
struct Record {
    std::string chip, host_os, guest_os, build, workload, stock, shim, host;
    std::string speed_up;      ///< shim against stock, as a factor above 1 where the shim helps
    std::string share_of_host; ///< shim against host, in per cent
    std::string source;
    std::uint32_t runs = 0;
    std::uint16_t apple_family = 0;
    std::uint64_t threadgroup_memory = 0;
    bool operator==(const Record&) const = default;
};

struct Workload {
    std::optional<WorkloadStatus> status;
    std::string reason;
    std::vector<Record> records;
    bool operator==(const Workload&) const = default;
};

/// A workaround for some guest systems: "13", "14.0..14.3" or ">=15".
struct Quirk {
    std::string guest_os;
    QuirkLevel level = QuirkLevel::note;
    std::vector<Variable> set;
    std::string note;
    bool operator==(const Quirk&) const = default;
};

struct Profile {
    std::string name;   ///< the file's base name without .toml
    std::string origin; ///< absolute path of the file, or "built-in"
    std::string description;
    Metal metal;
    Shim shim;
    std::optional<Target> target; ///< present: the file can be a launcher script
    Environment environment;
    Policy policy;
    Match match;
    Workload workload;
    std::vector<Quirk> quirks;
    bool operator==(const Profile&) const = default;
};

/// Why a start has this profile and no other.
struct Choice {
    enum class By : std::uint8_t {
        option,   ///< --profile
        variable, ///< METALRUN_PROFILE
        script,   ///< the target is a launcher script, and this profile is it
        match,    ///< its [match] fits
        fallback, ///< nothing else
    };
    By by = By::fallback;
    std::string key = {};     ///< match: "programs", "arguments" or "libraries"
    std::string pattern = {}; ///< match: the pattern of that key
    std::string subject = {}; ///< match: the word that fits it; script: its path
};

/// The highest ceiling a profile may ask for, and the largest threadgroup memory (bytes).
inline constexpr std::uint16_t kLowestFamily = 1001;
inline constexpr std::uint16_t kHighestFamily = 1010;
inline constexpr std::uint64_t kLargestThreadgroupMemory = 65536;

} // namespace metalrun::profile
