// SPDX-License-Identifier: MIT
//
// One checked fact, with its stable id, the sentence for people and the remedy (metalrun(1),
// DIAGNOSTICS).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::judge {

enum class FindingId : std::uint8_t {
    // chain
    target_not_found,
    target_not_executable,
    not_a_program,
    script_without_interpreter_line,
    script_interpreter_missing,
    script_interpreter_is_script,
    script_line_too_long,
    script_line_crlf,
    env_resolved,
    bundle_resolved,
    python_stub,
    xcode_stub,
    starts_elsewhere,
    login_shell,
    // image
    malformed,
    wrong_platform,
    encrypted,
    arm64e_not_allowed,
    slice_pinned,
    rosetta,
    not_executable,
    wrong_architecture,
    static_program,
    loader_missing,
    // signature and rights
    unsigned_code,
    bad_signature,
    entitlements_disagree,
    set_id,
    platform_binary,
    restrict_segment,
    restrict_flag,
    hardened_runtime,
    library_validation,
    app_sandbox,
    unusual_entitlement,
    launch_constraint,
    library_constraint,
    enhanced_security,
    quarantined,
    // shim
    shim_missing,
    shim_not_a_library,
    shim_architecture,
    shim_writable_by_others,
    shim_path,
    shim_checksum,
    shim_foreign,
    shim_platform,
    shim_unsigned,
    shim_bad_signature,
    shim_quarantined,
    shim_known,
    shim_on_shared_folder,
    child_would_die,
    // environment
    inherited_insertion,
    ld_preload_ignored,
    session_polluted,
    inherited_empty_element,
    // host
    not_a_guest,
    not_apple_silicon,
    sip_off,
    guest_os_untested,
    boot_argument,
    // workload
    nested_start,
    stock_asked,
    profile_stock,
    no_benefit,
    unsafe,
    blocked,
    untested,
    quirk_applied,
};

/// The id as people and scripts see it, such as "set-id".
[[nodiscard]] std::string_view to_string(FindingId id);

enum class Severity : std::uint8_t { note, warning, error };

/// What an insertion has to pass, in this order; a failure at one makes the later ones void.
enum class Gate : std::uint8_t {
    launch, ///< the file runs at all
    honour, ///< the loader reads the variable
    accept, ///< the loader takes the library
    effect, ///< it is in the process that computes
    none,   ///< says nothing about an insertion
};

/// Where a finding of this id stops an insertion, or makes it doubtful.
[[nodiscard]] Gate gate_of(FindingId id);

[[nodiscard]] std::string_view to_string(Gate gate);

/// Which step of the decision a finding can decide, in the order in which they are asked.
enum class Step : std::uint8_t {
    launch,    ///< the target cannot start at all
    stock,     ///< stock was asked for, or the shim is of no use here
    workload,  ///< the workload is unsafe or blocked
    shim,      ///< the shim cannot be used
    target,    ///< the target cannot take the shim
    uncertain, ///< it cannot be told
    none,      ///< information only
};

/// What an insertion by hand would come to.
enum class Outcome : std::uint8_t {
    loads,     ///< the library is loaded
    stripped,  ///< the program runs without it, in silence
    killed,    ///< the program is ended
    no_start,  ///< the program does not start at all
    uncertain, ///< it cannot be told; Verdict::worst says what it can come to
};

struct Finding {
    FindingId id = FindingId::target_not_found;
    Severity severity = Severity::note;
    Step step = Step::none;
    /// What it makes of an insertion; for Step::uncertain the worst it can come to. loads: nothing.
    Outcome outcome = Outcome::loads;
    std::string message;            ///< one sentence in lower case, without a final period
    std::vector<std::string> facts; ///< what was seen
    std::string help;               ///< one action
};

} // namespace metalrun::judge
