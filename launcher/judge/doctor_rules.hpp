// SPDX-License-Identifier: MIT
//
// `metalrun doctor` (metalrun(1), DOCTOR): what was seen of this machine -> what needs mending.
// Pure: the facts are gathered by commands/doctor.cpp. What cannot be known is unknown, with the
// reason.
#pragma once

#include "judge/host_facts.hpp"
#include "judge/judge.hpp"
#include "judge/session_files.hpp"
#include "launch/environment.hpp"
#include "profile/lint.hpp"
#include "report/json.hpp"
#include "result.hpp"
#include "target/content.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metalrun::doctor {

/// A fact, or why it is not known: one clause.
template <class T> using Known = std::expected<T, std::string>;

/// A shim where it is installed.
struct InstalledShim {
    judge::ShimFacts facts; ///< with its SHA-256
    bool universal = false; ///< else the one that is inserted unless children get it, too
    Known<std::string> expected_sha256 = std::unexpected(std::string("it was not looked for"));
};

/// metalrun itself.
struct OwnProgram {
    std::string path;
    target::Content content;
    std::optional<Error> distrust; ///< who else may write to it
    bool quarantined = false;
};

/// A profile that can be found, and what is wrong with it.
struct FoundProfile {
    std::string name;
    std::string origin;   ///< file, or "built-in"
    std::string place;    ///< the folder it is in; empty: built in
    bool shipped = false; ///< it came with metalrun
    std::vector<profile::Flaw> flaws = {};
    std::optional<Error> unread = {}; ///< why the file could not be looked at
};

/// A start-up file of a shell, or a property list of launchd. Those that are not there are left
/// out.
template <class T> struct SessionFile {
    std::string path;      ///< where it was looked for
    std::string real_path; ///< without symbolic links; as `path` if that is not known
    Known<T> content;
};
using ShellFile = SessionFile<std::vector<SetLine>>;
using JobFile = SessionFile<LaunchJob>;

/// A symbolic link in PATH that stands for a program with the shim in it, and does not work.
struct BadLink {
    enum class Why : std::uint8_t {
        dangling,  ///< the metalrun it leads to is not there
        last_name, ///< there is no other program of its name in PATH
    };
    std::string path;
    std::string destination; ///< as it is written in the link
    Why why = Why::dangling;
};

/// Where receipts go (launch/receipt.hpp has the rules).
struct StateFolder {
    enum class State : std::uint8_t {
        usable,
        not_made,       ///< the first start makes it
        no_place,       ///< no variable says where it would be
        not_a_folder,   ///< a file, or a symbolic link, which is not followed
        of_another,     ///< it belongs to another user
        open_to_others, ///< others may write to it
        unseen,         ///< it cannot be looked at
    };
    std::string path;
    State state = State::no_place;
    std::string detail = {}; ///< owner, mode, or what the system said
};

struct Facts {
    HostFacts host;
    std::string facts_file; ///< --host-facts; empty: this machine
    std::string home;       ///< $HOME; empty: unset or relative
    // Metal
    Known<report::DeviceAnswers> device;
    Known<bool> ollama_listens;
    // what is installed
    std::vector<InstalledShim> shims;
    std::string probe;      ///< path
    int probe_error = 0;    ///< errno of looking at it, or 0
    bool probe_runs = true; ///< it may be executed
    OwnProgram own;
    std::vector<FoundProfile> profiles;
    // the session
    std::vector<std::pair<std::string, std::string>> variables; ///< watched ones, as inherited
    launch::Insertion insertion;
    Known<std::string> session_insertion; ///< `launchctl getenv`; empty: not set
    std::vector<ShellFile> shell_files;
    std::vector<JobFile> job_files;
    std::vector<std::pair<std::string, std::string>> unread_folders; ///< path and reason
    std::vector<BadLink> bad_links;
    StateFolder state;
};

struct Finding {
    std::string id; ///< stable, kebab-case
    judge::Severity severity = judge::Severity::note;
    std::string message; ///< one sentence in lower case, without a final period
    std::vector<std::string> facts = {};
    std::string help = {};    ///< one action, for people
    std::string command = {}; ///< the action as a line for sh; empty: there is none
};

/// All findings, in the order of the report: host, device, installation, profiles, session.
[[nodiscard]] std::vector<Finding> diagnose(const Facts& facts);

/// True if a finding needs mending: an error or a warning.
[[nodiscard]] bool needs_mending(const std::vector<Finding>& findings);

/// Ollama's port, unless OLLAMA_HOST says otherwise (ollama, envconfig).
inline constexpr std::uint16_t kOllamaPort = 11434;

/// How far this combination of system and processor was shown to work (README, "What works where").
struct Shown {
    std::uint8_t rung = 0; ///< 0: nothing was shown
    std::string_view how;
};
[[nodiscard]] Shown shown_for(const HostFacts& host);

/// Boot arguments that change what the kernel and dyld accept, of those the kernel was given.
[[nodiscard]] std::vector<std::string> telling_boot_arguments(const HostFacts& host);

/// Whether dyld gives metalrun itself the DYLD_* variables of its caller.
enum class SeesVariables : std::uint8_t {
    always,         ///< Linux, or not hardened
    by_entitlement, ///< hardened, with the entitlement for it
    never,          ///< hardened without it
};
[[nodiscard]] Known<SeesVariables> sees_variables(const Facts& facts);

} // namespace metalrun::doctor
