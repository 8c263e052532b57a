// SPDX-License-Identifier: MIT
#include "judge/judge.hpp"

#include "judge/rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::judge {

namespace {

bool decides(const Finding& finding) {
    return finding.step != Step::none;
}

// The outcome of an insertion by hand does not depend on what was asked for, only on the files: the
// first finding that stops it, in the order of the decision.
Outcome predict(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
        if (finding.severity == Severity::error && finding.step != Step::uncertain &&
            finding.outcome != Outcome::loads) {
            return finding.outcome;
        }
    }
    const bool uncertain =
        std::any_of(findings.begin(), findings.end(),
                    [](const Finding& finding) { return finding.step == Step::uncertain; });
    return uncertain ? Outcome::uncertain : Outcome::loads;
}

// The worst that any uncertain finding can come to.
Outcome worst_of(const std::vector<Finding>& findings) {
    const bool kills = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.step == Step::uncertain && finding.outcome == Outcome::killed;
    });
    return kills ? Outcome::killed : Outcome::stripped;
}

Decision decide(const Finding& first, const launch::Plan& plan, const Verdict& verdict) {
    switch (first.step) {
    case Step::launch:
        return Decision::refuse;
    case Step::stock:
        return Decision::stock;
    case Step::workload:
    case Step::shim:
    case Step::target:
        break;
    case Step::uncertain:
        // The worst case `stripped` costs nothing: the program runs as it would have.
        if (verdict.worst != Outcome::killed ||
            plan.when_uncertain.value == profile::WhenUncertain::inject) {
            return Decision::inject;
        }
        break;
    case Step::none:
        return Decision::inject;
    }
    return plan.on_refusal.value == profile::OnRefusal::stock ? Decision::stock : Decision::refuse;
}

} // namespace

const macho::SliceFacts* running_slice(const macho::FileFacts& file,
                                       std::optional<cli::Arch> asked) {
    const auto find = [&](std::string_view name) -> const macho::SliceFacts* {
        for (const macho::SliceFacts& slice : file.slices) {
            if (slice.name == name) {
                return &slice;
            }
        }
        return nullptr;
    };
    if (asked) {
        static constexpr std::array<std::string_view, 3> kNames{"arm64", "arm64e", "x86_64"};
        return find(kNames.at(static_cast<std::size_t>(*asked)));
    }
    const macho::SliceFacts* plain = find("arm64");
    return plain != nullptr ? plain : find("arm64e");
}

bool fits_host(const elf::Facts& facts, const HostFacts& host) {
    return facts.is_64_bit && facts.is_little_endian &&
           facts.machine == elf::machine_of(host.architecture);
}

bool children_inherit(const Question& question) {
    switch (question.plan.children.value) {
    case profile::Children::stock:
        return false;
    case profile::Children::inherit:
        return true;
    case profile::Children::inherit_if_safe:
        break;
    }
    return !rule::child_may_die(question);
}

bool needs_shim(const Question& question) {
    const auto all = rules();
    return std::none_of(all.begin(), all.end(), [&](Rule rule) {
        const auto finding = rule(question);
        return finding && decides(*finding) && finding->step < Step::shim;
    });
}

Verdict judge(const Question& question) {
    Verdict verdict;
    for (const Rule rule : rules()) {
        if (auto finding = rule(question)) {
            verdict.findings.push_back(std::move(*finding));
        }
    }
    std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.step < b.step; });
    verdict.outcome = predict(verdict.findings);
    if (verdict.outcome == Outcome::uncertain) {
        verdict.worst = worst_of(verdict.findings);
    }
    verdict.decision = Decision::inject;
    if (!verdict.findings.empty() && decides(verdict.findings.front())) {
        verdict.decision = decide(verdict.findings.front(), question.plan, verdict);
        if (verdict.decision != Decision::inject) {
            verdict.reason = verdict.findings.front().id;
        }
    }
    return verdict;
}

Errc errc_of(const Finding& finding) {
    if (finding.id == FindingId::target_not_found ||
        finding.id == FindingId::script_interpreter_missing ||
        finding.id == FindingId::script_line_crlf) {
        return Errc::not_found;
    }
    return finding.step == Step::shim ? Errc::shim : Errc::refused;
}

std::string_view to_string(Decision decision) {
    static constexpr std::array<std::string_view, 3> kNames{"inject", "stock", "refuse"};
    return kNames.at(static_cast<std::size_t>(decision));
}

std::string_view to_string(Outcome outcome) {
    static constexpr std::array<std::string_view, 5> kNames{"loads", "stripped", "killed",
                                                            "no-start", "uncertain"};
    return kNames.at(static_cast<std::size_t>(outcome));
}

// One line an id: a switch warns of an id without a name.
std::string_view to_string(FindingId id) { // NOLINT(readability-function-size)
    switch (id) {
    case FindingId::target_not_found:
        return "target-not-found";
    case FindingId::target_not_executable:
        return "target-not-executable";
    case FindingId::not_a_program:
        return "not-a-program";
    case FindingId::script_without_interpreter_line:
        return "script-without-interpreter-line";
    case FindingId::script_interpreter_missing:
        return "script-interpreter-missing";
    case FindingId::script_interpreter_is_script:
        return "script-interpreter-is-script";
    case FindingId::script_line_too_long:
        return "script-line-too-long";
    case FindingId::script_line_crlf:
        return "script-line-crlf";
    case FindingId::env_resolved:
        return "env-resolved";
    case FindingId::starts_elsewhere:
        return "starts-elsewhere";
    case FindingId::malformed:
        return "malformed";
    case FindingId::wrong_platform:
        return "wrong-platform";
    case FindingId::encrypted:
        return "encrypted";
    case FindingId::arm64e_not_allowed:
        return "arm64e-not-allowed";
    case FindingId::slice_pinned:
        return "slice-pinned";
    case FindingId::rosetta:
        return "rosetta";
    case FindingId::unsigned_code:
        return "unsigned";
    case FindingId::bad_signature:
        return "bad-signature";
    case FindingId::platform_binary:
        return "platform-binary";
    case FindingId::restrict_segment:
        return "restrict-segment";
    case FindingId::restrict_flag:
        return "restrict-flag";
    case FindingId::hardened_runtime:
        return "hardened-runtime";
    case FindingId::library_validation:
        return "library-validation";
    case FindingId::app_sandbox:
        return "app-sandbox";
    case FindingId::unusual_entitlement:
        return "unusual-entitlement";
    case FindingId::launch_constraint:
        return "launch-constraint";
    case FindingId::library_constraint:
        return "library-constraint";
    case FindingId::enhanced_security:
        return "enhanced-security";
    case FindingId::quarantined:
        return "quarantined";
    case FindingId::shim_platform:
        return "shim-platform";
    case FindingId::shim_unsigned:
        return "shim-unsigned";
    case FindingId::shim_bad_signature:
        return "shim-bad-signature";
    case FindingId::shim_quarantined:
        return "shim-quarantined";
    case FindingId::child_would_die:
        return "child-would-die";
    case FindingId::shim_known:
        return "shim-known";
    case FindingId::not_apple_silicon:
        return "not-apple-silicon";
    case FindingId::sip_off:
        return "sip-off";
    case FindingId::guest_os_untested:
        return "guest-os-untested";
    case FindingId::boot_argument:
        return "boot-argument";
    case FindingId::not_executable:
        return "not-executable";
    case FindingId::wrong_architecture:
        return "wrong-architecture";
    case FindingId::static_program:
        return "static-program";
    case FindingId::loader_missing:
        return "loader-missing";
    case FindingId::set_id:
        return "set-id";
    case FindingId::shim_missing:
        return "shim-missing";
    case FindingId::shim_not_a_library:
        return "shim-not-a-library";
    case FindingId::shim_architecture:
        return "shim-architecture";
    case FindingId::shim_writable_by_others:
        return "shim-writable-by-others";
    case FindingId::shim_path:
        return "shim-path";
    case FindingId::shim_checksum:
        return "shim-checksum";
    case FindingId::shim_foreign:
        return "shim-foreign";
    case FindingId::inherited_insertion:
        return "inherited-insertion";
    case FindingId::inherited_empty_element:
        return "inherited-empty-element";
    case FindingId::not_a_guest:
        return "not-a-guest";
    case FindingId::stock_asked:
        return "stock-asked";
    case FindingId::profile_stock:
        return "profile-stock";
    case FindingId::no_benefit:
        return "no-benefit";
    case FindingId::unsafe:
        return "unsafe";
    case FindingId::blocked:
        return "blocked";
    case FindingId::untested:
        return "untested";
    case FindingId::quirk_applied:
        return "quirk-applied";
    }
    return "unknown";
}

} // namespace metalrun::judge
