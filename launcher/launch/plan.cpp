// SPDX-License-Identifier: MIT
#include "launch/plan.hpp"

#include "profile/values.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace metalrun::launch {

namespace {

using profile::Family;
using profile::Limit;

constexpr std::uint16_t kFamilyOfEveryMac = 1007;

std::optional<std::uint16_t> find_chip(std::string_view brand) {
    static constexpr std::array<std::pair<std::string_view, std::uint16_t>, 5> kChips{
        {{"M1", 1007}, {"M2", 1008}, {"M3", 1009}, {"M4", 1009}, {"M5", 1010}}};
    constexpr std::string_view kMaker = "Apple ";
    if (!brand.starts_with(kMaker)) {
        return std::nullopt;
    }
    brand.remove_prefix(kMaker.size());
    const std::string_view chip = brand.substr(0, brand.find(' '));
    for (const auto& [name, family] : kChips) {
        if (chip == name) {
            return family;
        }
    }
    return std::nullopt;
}

// The command line's value, else the profile's, else the built-in default.
template <class T>
Effective<T> choose(const std::optional<T>& asked, const std::optional<T>& written,
                    const std::string& profile_origin, T fallback) {
    if (asked) {
        return {*asked, std::string(kCommandLine)};
    }
    if (written) {
        return {*written, profile_origin};
    }
    return {std::move(fallback), std::string(kBuiltInDefault)};
}

Effective<std::uint64_t> bytes_of(const Effective<Limit>& limit) {
    return {limit.value.bytes, limit.origin};
}

void set_ceiling(Plan& plan) {
    const std::uint16_t host_family = plan.host.family;
    switch (plan.family.value.kind) {
    case Family::Kind::stock:
        return;
    case Family::Kind::host:
        plan.ceiling = host_family;
        return;
    case Family::Kind::ceiling:
        break;
    }
    plan.ceiling = plan.family.value.ceiling;
    if (plan.ceiling <= host_family) {
        return;
    }
    // A number on the command line is the user's own word; a profile's is a default for many hosts.
    if (plan.family_asked) {
        plan.above_host = !plan.host.chip.empty();
    } else if (plan.never_above_host.value) {
        plan.lowered_from = plan.ceiling;
        plan.ceiling = host_family;
    }
}

void add_environment(Plan& plan, const profile::Environment& environment,
                     const std::string& origin) {
    for (const std::string& name : environment.unset) {
        plan.environment.push_back({name, std::nullopt, origin});
    }
    for (const auto& [name, value] : environment.set) {
        plan.environment.push_back({name, value, origin});
    }
}

void add_quirks(Plan& plan, const profile::Profile& chosen, const HostFacts& host) {
    for (const profile::Quirk& quirk : chosen.quirks) {
        const bool applies = profile::covers_os(quirk.guest_os, host.os).value_or(false);
        (applies ? plan.quirks : plan.skipped_quirks)
            .push_back({quirk.guest_os, quirk.level, text::escape(quirk.note)});
        if (!applies) {
            continue;
        }
        for (const auto& [name, value] : quirk.set) {
            plan.environment.push_back(
                {name, value, text::format("quirk for guest OS {}", quirk.guest_os)});
        }
    }
}

Result<void> check_limits(const Plan& plan, const HostFacts& host) {
    const bool raises = plan.threadgroup_memory.value != 0 || plan.working_set.value != 0;
    const bool by_command_line =
        plan.threadgroup_memory.origin == kCommandLine || plan.working_set.origin == kCommandLine;
    if (plan.ceiling == 0 && raises && by_command_line) {
        return fail({.code = Errc::usage,
                     .message = "a limit cannot be raised while the family stays stock",
                     .help = "add '--family apple7', or leave the limits at stock"});
    }
    if (plan.working_set.value == 0 || !host.memory_bytes) {
        return {};
    }
    const std::uint64_t most = *host.memory_bytes / 4 * 3;
    if (plan.working_set.value > most) {
        return fail({.code = plan.working_set.origin == kCommandLine ? Errc::usage : Errc::profile,
                     .message = text::format("a working set of {} bytes is more than 75 % of this "
                                             "machine's memory ({} bytes)",
                                             plan.working_set.value, *host.memory_bytes),
                     .notes = {text::format("the value comes from: {}", plan.working_set.origin)},
                     .help = text::format("ask for at most {} bytes", most)});
    }
    return {};
}

std::string digest_for(const profile::Shim& shim, const std::string& architecture) {
    const auto& written = architecture == "arm64" ? shim.sha256_arm64 : shim.sha256_x86_64;
    return written.value_or(std::string{});
}

} // namespace

std::uint16_t family_of_chip(const std::string& brand) {
    return find_chip(brand).value_or(kFamilyOfEveryMac);
}

bool is_known_chip(const std::string& brand) {
    return find_chip(brand).has_value();
}

Result<Plan> make_plan(const profile::Profile& chosen, const cli::Request& request,
                       const HostFacts& host, const std::string& installed_shim) {
    const cli::Policy& asked = request.policy;
    const std::string name = text::concat("profile ", chosen.name);
    Plan plan{.profile = chosen.name, .profile_origin = chosen.origin};
    plan.host = {.os = host.os, .chip = host.chip, .family = family_of_chip(host.chip)};
    plan.family = choose(asked.family, chosen.metal.apple_family, name, Family{});
    plan.threadgroup_memory =
        bytes_of(choose(asked.threadgroup_memory, chosen.metal.threadgroup_memory, name, Limit{}));
    plan.working_set = bytes_of(choose(asked.working_set, chosen.metal.working_set, name, Limit{}));
    plan.never_above_host = choose<bool>(std::nullopt, chosen.metal.never_above_host, name, true);
    plan.hook = choose<profile::Hook>(std::nullopt, chosen.metal.hook, name, profile::Hook::early);
    plan.children = choose(asked.children, chosen.policy.children, name, profile::Children::stock);
    plan.on_refusal =
        choose(asked.or_stock ? std::optional(profile::OnRefusal::stock) : std::nullopt,
               chosen.policy.on_refusal, name, profile::OnRefusal::fail);
    plan.when_uncertain = choose(asked.when_uncertain, chosen.policy.when_uncertain, name,
                                 profile::WhenUncertain::refuse);
    plan.where = choose(asked.anywhere ? std::optional(profile::Where::anywhere) : std::nullopt,
                        chosen.policy.where, name, profile::Where::guest);
    plan.shim = choose(asked.shim, chosen.shim.path, name, installed_shim);
    plan.shim_sha256 = asked.shim ? std::string{} : digest_for(chosen.shim, host.architecture);
    plan.status = chosen.workload.status.value_or(profile::WorkloadStatus::untested);
    plan.status_reason = text::escape(chosen.workload.reason);
    plan.stock_asked = asked.stock;
    plan.family_asked = asked.family.has_value();
    plan.verify = asked.verify;
    plan.arch = asked.arch;
    set_ceiling(plan);
    add_environment(plan, chosen.environment, name);
    add_quirks(plan, chosen, host);
    for (const cli::EnvironmentChange& change : request.environment) {
        plan.environment.push_back({change.name, change.value, std::string(kCommandLine)});
    }
    constexpr std::size_t kMostVariables = 2000;
    if (plan.environment.size() > kMostVariables) {
        return fail(
            {.code = Errc::profile,
             .message = text::format("{} variables are to be set or unset, at most {} can be",
                                     plan.environment.size(), kMostVariables)});
    }
    if (auto limits = check_limits(plan, host); !limits) {
        return fail(std::move(limits.error()));
    }
    return plan;
}

} // namespace metalrun::launch
