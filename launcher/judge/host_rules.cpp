// SPDX-License-Identifier: MIT
//
// What the machine itself says of a verdict: System Integrity Protection, version, boot arguments.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "profile/values.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace metalrun::judge {

namespace rule {

Found sip_off(const Question& q) {
    if (q.host.kernel != HostFacts::Kernel::darwin || q.host.sip == Tri::yes) {
        return std::nullopt;
    }
    return remark(FindingId::sip_off, Severity::note,
                  q.host.sip == Tri::no
                      ? "System Integrity Protection is off: more is allowed here than elsewhere"
                      : "it is unknown whether System Integrity Protection is on; it counts as on");
}

Found guest_os_untested(const Question& q) {
    if (q.host.kernel != HostFacts::Kernel::darwin || q.host.os.empty() ||
        profile::covers_os("13..26", q.host.os).value_or(false)) {
        return std::nullopt;
    }
    return remark(FindingId::guest_os_untested, Severity::warning,
                  format("the rules are known for macOS 13 to 26, this is {}", q.host.os));
}

Found boot_argument(const Question& q) {
    static constexpr std::array<std::string_view, 4> kTold{
        "amfi_get_out_of_my_way", "amfi_allow_any_signature", "amfi_unrestrict_task_for_pid",
        "cs_enforcement_disable"};
    std::vector<std::string> seen;
    for (const std::string& argument : q.host.boot_arguments) {
        if (std::any_of(kTold.begin(), kTold.end(),
                        [&](std::string_view told) { return argument.starts_with(told); })) {
            seen.push_back(text::escape(argument));
        }
    }
    if (seen.empty()) {
        return std::nullopt;
    }
    Finding finding =
        remark(FindingId::boot_argument, Severity::warning,
               "boot arguments switch code signing checks off: what happens here does "
               "not tell what happens elsewhere");
    finding.facts = std::move(seen);
    return finding;
}

Found not_apple_silicon(const Question& q) {
    if (q.host.kernel != HostFacts::Kernel::darwin || q.host.architecture.empty() ||
        q.host.architecture == "arm64") {
        return std::nullopt;
    }
    return stock_because(
        FindingId::not_apple_silicon,
        format("runs without the shim: this is no Apple silicon ({})", q.host.architecture));
}

} // namespace rule

} // namespace metalrun::judge
