// SPDX-License-Identifier: MIT
//
// The rules, one function per finding id: a question to a finding, or nothing.
#pragma once

#include "judge/judge.hpp"

#include <optional>
#include <span>

namespace metalrun::judge {

using Rule = std::optional<Finding> (*)(const Question&);

/// In the order of the decision: the first that decides is the one a user must act on first.
[[nodiscard]] std::span<const Rule> rules();

namespace rule {

using Found = std::optional<Finding>;

/// True if the system's own arm64e programs honour the variable here and the library has nothing
/// for them: System Integrity Protection is not known to be on, and there is no arm64e slice or the
/// guest is older than 14.4 (dyld-1160.6).
[[nodiscard]] bool child_may_die(const Question& q);

// chain and image
Found chain_problem(const Question& q);
Found malformed(const Question& q);
Found not_a_program(const Question& q);
Found damaged_image(const Question& q);
Found not_executable(const Question& q);
Found macho_not_executable(const Question& q);
Found loader_missing(const Question& q);
Found wrong_architecture(const Question& q);
Found macho_wrong_architecture(const Question& q);
Found arm64e_not_allowed(const Question& q);
Found wrong_platform(const Question& q);
Found kernel_refuses(const Question& q);
Found encrypted(const Question& q);
Found slice_pinned(const Question& q);
Found rosetta(const Question& q);
// signature and rights
Found unsigned_code(const Question& q);
Found bad_signature(const Question& q);
Found entitlements_disagree(const Question& q);
Found odd_signature(const Question& q);
Found odd_commands(const Question& q);
Found catalyst(const Question& q);
Found set_id(const Question& q);
Found platform_binary(const Question& q);
Found restrict_segment(const Question& q);
Found restrict_flag(const Question& q);
Found hardened_runtime(const Question& q);
Found library_validation(const Question& q);
Found app_sandbox(const Question& q);
Found unusual_entitlement(const Question& q);
Found launch_constraint(const Question& q);
Found library_constraint(const Question& q);
Found enhanced_security(const Question& q);
Found quarantined(const Question& q);
Found starts_elsewhere(const Question& q);
Found xcode_stub(const Question& q);
Found python_stub(const Question& q);
Found login_shell(const Question& q);
Found bundle_resolved(const Question& q);
Found no_run_bit(const Question& q);
Found interpreter_unseen(const Question& q);
Found static_program(const Question& q);
// shim
Found shim_path(const Question& q);
Found shim_missing(const Question& q);
Found shim_not_a_library(const Question& q);
Found shim_architecture(const Question& q);
Found shim_platform(const Question& q);
Found shim_unsigned(const Question& q);
Found shim_bad_signature(const Question& q);
Found shim_quarantined(const Question& q);
Found child_would_die(const Question& q);
Found shim_writable_by_others(const Question& q);
Found shim_checksum(const Question& q);
Found shim_known(const Question& q);
Found shim_on_shared_folder(const Question& q);
Found shim_foreign(const Question& q);
// what was asked for, the host, the workload
Found nested_start(const Question& q);
Found stock_asked(const Question& q);
Found not_a_guest(const Question& q);
Found not_apple_silicon(const Question& q);
Found no_benefit(const Question& q);
Found profile_stock(const Question& q);
Found unsafe(const Question& q);
Found blocked(const Question& q);
Found quirk_refuses(const Question& q);
Found sip_off(const Question& q);
Found guest_os_untested(const Question& q);
Found boot_argument(const Question& q);
Found env_resolved(const Question& q);
Found outer_replaced(const Question& q);
Found inherited_insertion(const Question& q);
Found inherited_empty_element(const Question& q);
Found ld_preload_ignored(const Question& q);
Found session_polluted(const Question& q);
Found untested(const Question& q);
Found quirk_applied(const Question& q);

} // namespace rule

} // namespace metalrun::judge
