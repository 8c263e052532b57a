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

// The outcome of an insertion by hand does not depend on what was asked for, only on the files.
Outcome predict(const std::vector<Finding>& findings, HostFacts::Kernel kernel) {
    const auto has = [&](Step step) {
        return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
            return finding.step == step && finding.severity == Severity::error;
        });
    };
    if (has(Step::launch)) {
        return Outcome::no_start;
    }
    if (has(Step::target)) {
        return Outcome::stripped;
    }
    if (has(Step::shim)) {
        // ld.so goes on without a library that it cannot load; dyld ends the program.
        return kernel == HostFacts::Kernel::linux ? Outcome::stripped : Outcome::killed;
    }
    return has(Step::uncertain) ? Outcome::uncertain : Outcome::loads;
}

Decision decide(const Finding& first, const launch::Plan& plan) {
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
        if (plan.when_uncertain.value == profile::WhenUncertain::inject) {
            return Decision::inject;
        }
        break;
    case Step::none:
        return Decision::inject;
    }
    return plan.on_refusal.value == profile::OnRefusal::stock ? Decision::stock : Decision::refuse;
}

} // namespace

bool fits_host(const elf::Facts& facts, const HostFacts& host) {
    return facts.is_64_bit && facts.is_little_endian &&
           facts.machine == elf::machine_of(host.architecture);
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
    verdict.outcome = predict(verdict.findings, question.host.kernel);
    if (verdict.outcome == Outcome::uncertain) {
        verdict.worst = Outcome::stripped;
    }
    verdict.decision = Decision::inject;
    if (!verdict.findings.empty() && decides(verdict.findings.front())) {
        verdict.decision = decide(verdict.findings.front(), question.plan);
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

std::string_view to_string(FindingId id) {
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
