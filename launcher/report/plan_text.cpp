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

std::string family_text(const launch::Plan& plan) {
    if (plan.ceiling == 0) {
        return "stock";
    }
    const std::string name =
        profile::to_string(profile::Family{profile::Family::Kind::ceiling, plan.ceiling});
    if (plan.lowered_from != 0) {
        return text::format("{} ({}), lowered from {}: the host's family", name, plan.ceiling,
                            plan.lowered_from);
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

} // namespace

std::string render_values(const launch::Plan& plan) {
    std::string out = text::format("profile: {}\norigin: {}\n", text::escape(plan.profile),
                                   text::escape(plan.profile_origin));
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
    for (const launch::AppliedQuirk& quirk : plan.quirks) {
        out += text::format("quirk: guest OS {}: {}\n", quirk.guest_os, quirk.note);
    }
    return out;
}

std::string render_values_json(const launch::Plan& plan) {
    std::string values;
    for (const Row& row : rows_of(plan)) {
        values += text::format("{}{{\"key\": {}, \"value\": {}, \"origin\": {}}}",
                               values.empty() ? "" : ", ", text::basic_string(row.key),
                               text::basic_string(row.value), text::basic_string(row.origin));
    }
    return text::format("{{\"profile\": {}, \"origin\": {}, \"values\": [{}]}}\n",
                        text::basic_string(plan.profile), text::basic_string(plan.profile_origin),
                        values);
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
