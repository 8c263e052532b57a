// SPDX-License-Identifier: MIT
//
// The order of the rules (corpus RULES, "Order of reasons", with set-id before platform-binary).
#include "judge/rules.hpp"

#include <array>

namespace metalrun::judge {

namespace {

constexpr std::array kRules{
    // launch
    rule::chain_problem, rule::malformed, rule::not_a_program, rule::damaged_image,
    rule::not_executable, rule::macho_not_executable, rule::loader_missing,
    rule::wrong_architecture, rule::macho_wrong_architecture, rule::arm64e_not_allowed,
    rule::wrong_platform, rule::kernel_refuses, rule::unsigned_code, rule::bad_signature,
    // stock
    rule::nested_start, rule::stock_asked, rule::not_a_guest, rule::not_apple_silicon,
    rule::no_benefit, rule::profile_stock,
    // workload
    rule::unsafe, rule::blocked, rule::quirk_refuses,
    // shim
    rule::shim_path, rule::shim_missing, rule::shim_not_a_library, rule::shim_architecture,
    rule::shim_platform, rule::shim_unsigned, rule::shim_bad_signature, rule::shim_quarantined,
    rule::shim_writable_by_others, rule::shim_checksum, rule::child_would_die,
    // target
    rule::starts_elsewhere, rule::xcode_stub, rule::set_id, rule::platform_binary, rule::encrypted,
    rule::restrict_segment, rule::restrict_flag, rule::hardened_runtime, rule::library_validation,
    rule::static_program, rule::python_stub, rule::login_shell,
    // uncertain
    rule::interpreter_unseen, rule::launch_constraint, rule::library_constraint, rule::quarantined,
    rule::app_sandbox, rule::enhanced_security, rule::unusual_entitlement,
    // information
    rule::shim_known, rule::shim_foreign, rule::shim_on_shared_folder, rule::bundle_resolved,
    rule::no_run_bit, rule::entitlements_disagree, rule::odd_signature, rule::odd_commands,
    rule::catalyst, rule::slice_pinned, rule::rosetta, rule::env_resolved, rule::outer_replaced,
    rule::inherited_insertion, rule::inherited_empty_element, rule::ld_preload_ignored,
    rule::session_polluted, rule::sip_off, rule::guest_os_untested, rule::boot_argument,
    rule::untested, rule::quirk_applied};

} // namespace

std::span<const Rule> rules() {
    return kRules;
}

} // namespace metalrun::judge
