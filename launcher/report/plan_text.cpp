// SPDX-License-Identifier: MIT
#include "report/plan_text.hpp"

#include "profile/values.hpp"
#include "report/text.hpp"

#include <string_view>
#include <vector>

namespace metalrun::report {

namespace {

struct Row {
    std::string key;
    std::string value;
    std::string origin;
};

std::string bytes_text(std::uint64_t bytes) {
    return bytes == 0 ? std::string("stock") : text::format("{} bytes", bytes);
}

std::string chip_text(const launch::HostSeen& host) {
    if (launch::is_known_chip(host.chip)) {
        return text::format("{} has this family", text::quote(host.chip));
    }
    return text::format(
        "the chip {}, and every M-series chip has this family",
        host.chip.empty() ? std::string("is not known")
                          : text::format("{} is none that is known here", text::quote(host.chip)));
}

std::string_view word_of(profile::Choice::By by) {
    switch (by) {
    case profile::Choice::By::option:
        return "option";
    case profile::Choice::By::variable:
        return "variable";
    case profile::Choice::By::script:
        return "script";
    case profile::Choice::By::match:
        return "match";
    case profile::Choice::By::fallback:
        break;
    }
    return "default";
}

std::string choice_text(const profile::Choice& choice) {
    switch (choice.by) {
    case profile::Choice::By::option:
        return "named on the command line";
    case profile::Choice::By::variable:
        return "named by METALRUN_PROFILE";
    case profile::Choice::By::script:
        return text::format("it is the launcher script {}", text::quote(choice.subject));
    case profile::Choice::By::match:
        return text::format("its match.{} has {}, which fits {}", choice.key,
                            text::quote(choice.pattern), text::quote(choice.subject));
    case profile::Choice::By::fallback:
        break;
    }
    return "nothing names or fits another";
}

std::string render_quirks(const launch::Plan& plan) {
    std::string out;
    for (const launch::AppliedQuirk& quirk : plan.quirks) {
        out += text::format("quirk: guest OS {}: applied, as this guest has {}: {}\n",
                            quirk.guest_os, text::escape(plan.host.os), quirk.note);
    }
    const std::string seen = plan.host.os.empty()
                                 ? std::string("as the guest's version is not known")
                                 : text::format("as this guest has {}", text::escape(plan.host.os));
    for (const launch::AppliedQuirk& quirk : plan.skipped_quirks) {
        out += text::format("quirk: guest OS {}: skipped, {}\n", quirk.guest_os, seen);
    }
    return out;
}

std::string string_or_null(std::string_view value) {
    return value.empty() ? "null" : text::basic_string(value);
}

std::string render_quirks_json(const std::vector<launch::AppliedQuirk>& quirks, bool applied) {
    std::string out;
    for (const launch::AppliedQuirk& quirk : quirks) {
        out += text::format("{}{{\"guest_os\": {}, \"applied\": {}, \"level\": {}, \"note\": {}}}",
                            out.empty() ? "" : ", ", text::basic_string(quirk.guest_os), applied,
                            text::basic_string(profile::to_string(quirk.level)),
                            text::basic_string(quirk.note));
    }
    return out;
}

std::string family_text(const launch::Plan& plan) {
    if (plan.ceiling == 0) {
        return "stock";
    }
    const std::string name =
        profile::to_string(profile::Family{profile::Family::Kind::ceiling, plan.ceiling});
    if (plan.lowered_from != 0) {
        return text::format("{} ({}), lowered from {}: {}", name, plan.ceiling, plan.lowered_from,
                            chip_text(plan.host));
    }
    return text::format("{} ({})", name, plan.ceiling);
}

std::vector<Row> rows_of(const launch::Plan& plan) {
    std::vector<Row> rows{
        {"metal.apple_family", family_text(plan), plan.family.origin},
        {"metal.threadgroup_memory", bytes_text(plan.threadgroup_memory.value),
         plan.threadgroup_memory.origin},
        {"metal.working_set", bytes_text(plan.working_set.value), plan.working_set.origin},
        {"metal.never_above_host", plan.never_above_host.value ? "true" : "false",
         plan.never_above_host.origin},
        {"metal.hook", std::string(profile::to_string(plan.hook.value)), plan.hook.origin},
        {"shim.path", text::escape(plan.shim.value), plan.shim.origin},
        {"policy.on_refusal", std::string(profile::to_string(plan.on_refusal.value)),
         plan.on_refusal.origin},
        {"policy.when_uncertain", std::string(profile::to_string(plan.when_uncertain.value)),
         plan.when_uncertain.origin},
        {"policy.children", std::string(profile::to_string(plan.children.value)),
         plan.children.origin},
        {"policy.where", std::string(profile::to_string(plan.where.value)), plan.where.origin},
        {"workload.status", std::string(profile::to_string(plan.status)),
         text::format("profile {}", plan.profile)},
    };
    for (const launch::Change& change : plan.environment) {
        rows.push_back({text::format("environment.{}", text::escape(change.name)),
                        change.value ? text::quote(*change.value) : std::string("unset"),
                        change.origin});
    }
    return rows;
}

std::string render_findings(const judge::Verdict& verdict) {
    std::string out;
    for (const judge::Finding& finding : verdict.findings) {
        out += text::format("finding: {} [{}]\n", finding.message, judge::to_string(finding.id));
    }
    return out;
}

std::string render_exec(const ExecRequest& exec) {
    std::string out = text::format("execve: {}\n", text::quote(exec.path));
    for (std::size_t i = 0; i < exec.arguments.size(); ++i) {
        out += text::format("argv[{}]: {}\n", i, text::quote(exec.arguments[i]));
    }
    for (const std::string& entry : exec.environment) {
        const bool ours = entry.starts_with("LD_PRELOAD=") || entry.starts_with("DYLD_") ||
                          entry.starts_with("LUME_METAL_") || entry.starts_with("METALRUN_");
        if (ours) {
            out += text::format("environment: {}\n", text::escape(entry));
        }
    }
    return out;
}

// What an env or a stub on the way does, which is not started.
std::string change_text(const target::EnvironmentChange& change) {
    switch (change.kind) {
    case target::EnvironmentChange::Kind::clear:
        return "clear";
    case target::EnvironmentChange::Kind::unset:
        return text::format("unset {}", text::escape(change.name));
    case target::EnvironmentChange::Kind::set:
        break;
    }
    return text::format("{}={}", text::escape(change.name), text::escape(change.value));
}

} // namespace

std::string render_values(const launch::Plan& plan) {
    std::string out =
        text::format("profile: {}\norigin: {}\nchosen: {}\n", text::escape(plan.profile),
                     text::escape(plan.profile_origin), choice_text(plan.choice));
    constexpr std::size_t kKeyWidth = 25;
    constexpr std::size_t kValueWidth = 32;
    for (Row& row : rows_of(plan)) {
        row.key.resize(std::max(row.key.size(), kKeyWidth), ' ');
        row.value.resize(std::max(row.value.size(), kValueWidth), ' ');
        out += text::format("{} {} ({})\n", row.key, row.value, row.origin);
    }
    if (!plan.status_reason.empty()) {
        out += text::format("workload.reason           {}\n", plan.status_reason);
    }
    return out + render_quirks(plan);
}

std::string render_values_json(const launch::Plan& plan) {
    std::string values;
    for (const Row& row : rows_of(plan)) {
        values += text::format("{}{{\"key\": {}, \"value\": {}, \"origin\": {}}}",
                               values.empty() ? "" : ", ", text::basic_string(row.key),
                               text::basic_string(row.value), text::basic_string(row.origin));
    }
    const std::string applied = render_quirks_json(plan.quirks, true);
    const std::string skipped = render_quirks_json(plan.skipped_quirks, false);
    return text::format(
        "{{\"profile\": {}, \"origin\": {}, \"chosen\": {}, \"host\": {{\"os\": {}, \"chip\": {}, "
        "\"family\": {}}}, \"ceiling\": {}, \"lowered_from\": {}, \"values\": [{}], \"reason\": "
        "{}, "
        "\"quirks\": [{}{}{}]}}\n",
        text::basic_string(plan.profile), text::basic_string(plan.profile_origin),
        render_choice_json(plan.choice), string_or_null(plan.host.os),
        string_or_null(plan.host.chip), plan.host.family, plan.ceiling,
        plan.lowered_from == 0 ? std::string("null") : std::to_string(plan.lowered_from), values,
        string_or_null(plan.status_reason), applied, applied.empty() || skipped.empty() ? "" : ", ",
        skipped);
}

std::string render_choice_json(const profile::Choice& choice) {
    const std::string by = text::basic_string(word_of(choice.by));
    if (choice.by == profile::Choice::By::script) {
        return text::format("{{\"by\": {}, \"path\": {}}}", by, text::basic_string(choice.subject));
    }
    if (choice.by == profile::Choice::By::match) {
        return text::format("{{\"by\": {}, \"key\": {}, \"pattern\": {}, \"fits\": {}}}", by,
                            text::basic_string(choice.key), text::basic_string(choice.pattern),
                            text::basic_string(choice.subject));
    }
    return text::format("{{\"by\": {}}}", by);
}

std::string render_plan(const launch::Plan& plan, const judge::Verdict& verdict,
                        const target::Chain& chain, const ExecRequest& exec) {
    std::string out =
        text::format("decision: {}\noutcome: {}\n", judge::to_string(verdict.decision),
                     judge::to_string(verdict.outcome));
    if (verdict.reason) {
        out += text::format("reason: {}\n", judge::to_string(*verdict.reason));
    }
    out += text::format("target: {}\n", text::quote(chain.typed));
    for (const target::Link& link : chain.links) {
        out += text::format("chain: {} {}\n", target::to_string(link.kind), text::quote(link.path));
    }
    for (const target::EnvironmentChange& change : chain.environment) {
        out += text::format("environment change: {}\n", change_text(change));
    }
    out += render_values(plan);
    if (verdict.decision != judge::Decision::refuse) {
        out += render_exec(exec);
    }
    return out + render_findings(verdict);
}

std::string render_start(const launch::Plan& plan, const judge::Verdict& verdict,
                         const ExecRequest& exec) {
    const std::string because =
        verdict.reason ? text::format(" ({})", judge::to_string(*verdict.reason)) : std::string{};
    std::string out = text::format("metalrun: note: {}: {}{}, profile {} ({}), family {}\n",
                                   text::quote(exec.path), judge::to_string(verdict.decision),
                                   because, text::quote(plan.profile),
                                   text::escape(plan.profile_origin), family_text(plan));
    if (verdict.decision == judge::Decision::inject) {
        out += text::format("note: library {}\n", text::quote(plan.shim.value));
    }
    return out;
}

} // namespace metalrun::report
