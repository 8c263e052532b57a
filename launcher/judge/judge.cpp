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

// The first error that stops an insertion at this gate, or null.
const Finding* stopped_at(Gate gate, const std::vector<Finding>& findings) {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.severity == Severity::error && finding.step != Step::uncertain &&
               finding.outcome != Outcome::loads && gate_of(finding.id) == gate;
    });
    return found == findings.end() ? nullptr : &*found;
}

bool is_doubtful(const std::vector<Finding>& findings, Gate gate) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.step == Step::uncertain && gate_of(finding.id) == gate;
    });
}

struct Prediction {
    Outcome outcome = Outcome::loads;
    std::optional<Outcome> worst;
};

// The outcome of an insertion by hand does not depend on what was asked for, only on the files: it
// is decided by the first gate that is not passed. A library that would end the process does so
// only if the loader reads the variable.
Prediction predict(const std::vector<Finding>& findings) {
    for (const Gate gate : {Gate::launch, Gate::honour, Gate::accept, Gate::effect}) {
        const Finding* stop = stopped_at(gate, findings);
        if (stop == nullptr) {
            continue;
        }
        if (gate == Gate::accept && stop->outcome == Outcome::killed &&
            is_doubtful(findings, Gate::honour)) {
            return {.outcome = Outcome::uncertain, .worst = Outcome::killed};
        }
        return {.outcome = stop->outcome};
    }
    const auto is_uncertain = [](const Finding& finding) {
        return finding.step == Step::uncertain;
    };
    if (std::none_of(findings.begin(), findings.end(), is_uncertain)) {
        return {};
    }
    const bool kills = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
        return is_uncertain(finding) && finding.outcome == Outcome::killed;
    });
    return {.outcome = Outcome::uncertain, .worst = kills ? Outcome::killed : Outcome::stripped};
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
    for (const std::string_view name : {"arm64", "arm64v8", "arm64e"}) {
        if (const macho::SliceFacts* slice = find(name); slice != nullptr) {
            return slice;
        }
    }
    return nullptr;
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
    const Prediction prediction = predict(verdict.findings);
    verdict.outcome = prediction.outcome;
    verdict.worst = prediction.worst;
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

} // namespace metalrun::judge
