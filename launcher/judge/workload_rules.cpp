// SPDX-License-Identifier: MIT
//
// What was asked for, where we are, and what is known of the workload.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "profile/values.hpp"

#include <utility>

namespace metalrun::judge {

namespace rule {

// --- stock --------------------------------------------------------------------------------------

// Before everything else that asks for stock: the inner one says it again if it is so.
Found nested_start(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || target::marker_of(image->content) != "launcher") {
        return std::nullopt;
    }
    return stock_because(FindingId::nested_start,
                         format("{} is a metalrun, which decides for its own target: the profile "
                                "and the shim of this start are left out",
                                target_name(q)));
}

std::optional<Finding> stock_asked(const Question& q) {
    if (!q.plan.stock_asked) {
        return std::nullopt;
    }
    return stock_because(FindingId::stock_asked, "runs without the shim: '--stock' was given");
}

std::optional<Finding> not_a_guest(const Question& q) {
    if (q.host.guest == Tri::yes || q.plan.where.value == profile::Where::anywhere) {
        return std::nullopt;
    }
    Finding finding =
        stock_because(FindingId::not_a_guest,
                      q.host.guest == Tri::no
                          ? "runs without the shim: this machine is not a macOS guest"
                          : "runs without the shim: it is unknown whether this machine is a guest");
    finding.help = "'--anywhere' inserts the shim here, too";
    return finding;
}

std::optional<Finding> no_benefit(const Question& q) {
    if (q.plan.status != profile::WorkloadStatus::no_benefit || q.plan.family_asked) {
        return std::nullopt;
    }
    Finding finding =
        stock_because(FindingId::no_benefit,
                      format("runs without the shim: the shim is known to be of no use to this "
                             "workload (profile {})",
                             quote(q.plan.profile)));
    if (!q.plan.status_reason.empty()) {
        finding.facts.push_back(q.plan.status_reason);
    }
    finding.help = "'--family apple7' inserts it all the same";
    return finding;
}

// --- workload -----------------------------------------------------------------------------------

namespace {

std::optional<Finding> refused_workload(const Question& q, profile::WorkloadStatus status,
                                        FindingId id, std::string_view what) {
    if (q.plan.status != status) {
        return std::nullopt;
    }
    const std::string sentence =
        format("profile {}: {}{}{}", quote(q.plan.profile), what,
               q.plan.status_reason.empty() ? std::string_view{} : std::string_view{": "},
               q.plan.status_reason);
    if (q.plan.family_asked) {
        return remark(id, Severity::warning, sentence);
    }
    Finding finding = error_at(Step::workload, Outcome::loads, id, sentence);
    finding.help = std::string(kStockHelp);
    return finding;
}

} // namespace

std::optional<Finding> unsafe(const Question& q) {
    return refused_workload(q, profile::WorkloadStatus::unsafe, FindingId::unsafe,
                            "raised answers are known to harm this workload");
}

std::optional<Finding> blocked(const Question& q) {
    return refused_workload(q, profile::WorkloadStatus::blocked, FindingId::blocked,
                            "the shim cannot get into this workload");
}

std::optional<Finding> quirk_refuses(const Question& q) {
    for (const launch::AppliedQuirk& quirk : q.plan.quirks) {
        if (quirk.level == profile::QuirkLevel::refuse && !q.plan.family_asked) {
            Finding finding = error_at(Step::workload, Outcome::loads, FindingId::quirk_applied,
                                       format("profile {} refuses guest OS {}: {}",
                                              quote(q.plan.profile), quirk.guest_os, quirk.note));
            finding.help = std::string(kStockHelp);
            return finding;
        }
    }
    return std::nullopt;
}

// A stock ceiling decides only behind the statuses above: an unsafe profile names no family at all.
std::optional<Finding> profile_stock(const Question& q) {
    const bool refused =
        !q.plan.family_asked && (q.plan.status == profile::WorkloadStatus::unsafe ||
                                 q.plan.status == profile::WorkloadStatus::blocked);
    if (q.plan.ceiling != 0 || refused) {
        return std::nullopt;
    }
    return stock_because(FindingId::profile_stock,
                         format("runs without the shim: {} asks for the stock family",
                                q.plan.family.origin == "command line"
                                    ? std::string("the command line")
                                    : format("profile {}", quote(q.plan.profile))));
}

// --- information --------------------------------------------------------------------------------

Found outer_replaced(const Question& q) {
    if (q.insertion == nullptr || !q.insertion->is_from_metalrun) {
        return std::nullopt;
    }
    return remark(FindingId::nested_start, Severity::note,
                  "another metalrun started this one: its settings are replaced");
}

std::optional<Finding> inherited_insertion(const Question& q) {
    if (q.insertion == nullptr || q.insertion->elements.empty()) {
        return std::nullopt;
    }
    Finding finding = remark(FindingId::inherited_insertion, Severity::note,
                             format("{} was set already; its libraries stay, behind the shim",
                                    launch::insertion_variable(q.host.kernel)));
    finding.facts = q.insertion->elements;
    return finding;
}

std::optional<Finding> inherited_empty_element(const Question& q) {
    if (q.insertion == nullptr || !q.insertion->had_empty) {
        return std::nullopt;
    }
    return remark(FindingId::inherited_empty_element, Severity::note,
                  format("{} had an empty element, which was left out",
                         launch::insertion_variable(q.host.kernel)));
}

Found ld_preload_ignored(const Question& q) {
    if (q.insertion == nullptr || !q.insertion->has_ld_preload) {
        return std::nullopt;
    }
    return remark(FindingId::ld_preload_ignored, Severity::note,
                  "LD_PRELOAD is set, which macOS does not know: it reads DYLD_INSERT_LIBRARIES");
}

Found session_polluted(const Question& q) {
    if (q.insertion == nullptr || !q.insertion->is_session_wide) {
        return std::nullopt;
    }
    const std::string_view variable = launch::insertion_variable(q.host.kernel);
    Finding finding = remark(
        FindingId::session_polluted, Severity::warning,
        format("{} names a Metal shim already: every program of this session gets it", variable));
    finding.facts = q.insertion->removed_shims;
    finding.help = format(
        "take {} out of the shell's profile{}; metalrun sets it for one program", variable,
        q.host.kernel == HostFacts::Kernel::darwin ? format(", or: launchctl unsetenv {}", variable)
                                                   : std::string{});
    return finding;
}

std::optional<Finding> untested(const Question& q) {
    if (q.plan.status != profile::WorkloadStatus::untested) {
        return std::nullopt;
    }
    return remark(FindingId::untested, Severity::note,
                  format("no record says what the shim does for this workload (profile {})",
                         quote(q.plan.profile)));
}

std::optional<Finding> quirk_applied(const Question& q) {
    std::optional<Finding> finding;
    for (const launch::AppliedQuirk& quirk : q.plan.quirks) {
        if (quirk.level == profile::QuirkLevel::refuse && !q.plan.family_asked) {
            continue;
        }
        if (!finding) {
            finding = remark(FindingId::quirk_applied, Severity::note,
                             format("profile {} knows of a quirk of guest OS {}",
                                    quote(q.plan.profile), q.host.os));
        }
        if (quirk.level != profile::QuirkLevel::note) {
            finding->severity = Severity::warning;
        }
        finding->facts.push_back(quirk.note);
    }
    return finding;
}

} // namespace rule

} // namespace metalrun::judge
