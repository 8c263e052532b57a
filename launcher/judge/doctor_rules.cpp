// SPDX-License-Identifier: MIT
#include "judge/doctor_rules.hpp"

#include "judge/doctor_parts.hpp"
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "macho/code_signature.hpp"
#include "profile/values.hpp"
#include "report/shell_text.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

namespace metalrun::doctor {

using judge::Severity;
using text::format;
using text::quote;

namespace {

// Every M-series chip answers yes to this family; a device that does not, under-reports itself.
constexpr std::uint16_t kFamilyOfEveryMac = 1007;

bool is_macos(const Facts& facts) {
    return facts.host.kernel == HostFacts::Kernel::darwin;
}

bool is_macos_guest(const Facts& facts) {
    return is_macos(facts) && facts.host.guest == Tri::yes;
}

void guest(const Facts& facts, Findings& into) {
    if (!is_macos(facts)) {
        into.push_back({.id = "not-a-guest",
                        .message = "this is no macOS guest: metalrun starts programs stock here, "
                                   "unless '--anywhere' is given"});
    } else if (facts.host.guest == Tri::unknown) {
        into.push_back({.id = "guest-unknown",
                        .message = "it is not known whether this macOS is a guest, so that "
                                   "metalrun starts programs stock, unless '--anywhere' is given"});
    } else if (facts.host.guest == Tri::no) {
        into.push_back({.id = "not-a-guest",
                        .message = "this macOS is no guest: its device needs no shim, and metalrun "
                                   "starts programs stock, unless '--anywhere' is given"});
    }
}

void host(const Facts& facts, Findings& into) {
    guest(facts, into);
    const Asker asker(facts);
    if (is_macos(facts) && facts.host.architecture == "x86_64") {
        into.push_back({.id = "not-apple-silicon",
                        .message = "this is no Apple silicon (x86_64): metalrun starts programs "
                                   "stock"});
    }
    if (auto found = asker.ask(judge::rule::sip_off)) {
        into.push_back(std::move(*found));
    }
    if (auto found = asker.ask(judge::rule::guest_os_untested)) {
        found->help = "report what works here, with the block at the end";
        into.push_back(std::move(*found));
    }
    if (is_macos(facts) && facts.host.translated == Tri::yes) {
        into.push_back({.id = "translated",
                        .severity = Severity::warning,
                        .message = "this metalrun runs translated by Rosetta: it was built for "
                                   "Intel, or started as 'arch -x86_64'",
                        .help = "start the arm64 build, from a terminal that is not translated"});
    }
}

void boot_arguments(const Facts& facts, Findings& into) {
    auto found = Asker(facts).ask(judge::rule::boot_argument);
    if (!found) {
        return;
    }
    const auto told = telling_boot_arguments(facts.host);
    std::string rest;
    for (const std::string& argument : facts.host.boot_arguments) {
        // The preview of arm64e takes no check away.
        if (argument.starts_with(judge::rule::kArm64ePreview) ||
            std::ranges::find(told, argument) == told.end()) {
            rest += text::concat(rest.empty() ? "" : " ", argument);
        }
    }
    found->help = "take them out, and start this system again";
    found->command = text::shell_command({"sudo", "nvram", text::concat("boot-args=", rest)});
    into.push_back(std::move(*found));
}

void device(const Facts& facts, Findings& into) {
    if (facts.probe_error != 0 || !facts.probe_runs) {
        into.push_back(
            {.id = "probe-missing",
             .severity = Severity::warning,
             .message = facts.probe_error != 0
                            ? format("cannot look at the probe {}: {}", quote(facts.probe),
                                     text::error_text(facts.probe_error))
                            : format("the probe {} may not be executed", quote(facts.probe)),
             .help = facts.probe_error != 0 ? "install metalrun again: the probe belongs beside it"
                                            : "let it be executed",
             .command = facts.probe_error != 0
                            ? std::string{}
                            : text::shell_command({"chmod", "a+x", facts.probe})});
        return;
    }
    if (!facts.device) {
        return; // the report says why it is unknown
    }
    const std::optional<std::string>& name = facts.device->device;
    if (!name) {
        into.push_back({.id = "no-device",
                        .severity = is_macos_guest(facts) ? Severity::warning : Severity::note,
                        .message = "this process sees no Metal device",
                        .help = is_macos_guest(facts) ? "give the guest a paravirtual graphics "
                                                        "device in the host's settings"
                                                      : ""});
    } else if (facts.device->apple_family < kFamilyOfEveryMac) {
        into.push_back(
            {.id = "device-under-reports",
             .message = format("the device {}{} under-reports itself: that is what the shim is for",
                               quote(*name), facts.device->simulated ? " (simulated)" : ""),
             .facts = {format("highest Apple family {}, every M-series chip has {}",
                              facts.device->apple_family, kFamilyOfEveryMac)}});
    }
}

void ollama(const Facts& facts, Findings& into) {
    if (facts.ollama_listens && *facts.ollama_listens) {
        into.push_back(
            {.id = "port-in-use",
             .message = format("a server listens on 127.0.0.1:{}, Ollama's port: a further 'ollama "
                               "serve' would not start, and clients reach that server",
                               kOllamaPort),
             .help = "see whether it was started with the shim; if not, end it and start "
                     "'metalrun -- ollama serve'",
             .command = text::shell_command(
                 {"lsof", "-nP", format("-iTCP:{}", kOllamaPort), "-sTCP:LISTEN"})});
    }
}

void own_program(const Facts& facts, Findings& into) {
    const OwnProgram& own = facts.own;
    if (own.distrust) {
        into.push_back({.id = "metalrun-writable-by-others",
                        .severity = Severity::warning,
                        .message = own.distrust->message,
                        .help = "let nobody else write there",
                        .command = pasteable(own.distrust->help)});
    }
    if (own.quarantined) {
        into.push_back(
            {.id = "metalrun-quarantined",
             .severity = Severity::warning,
             .message = format("macOS has not approved metalrun itself (com.apple.quarantine): {}",
                               quote(own.path)),
             .help = "take the mark off",
             .command = text::shell_command({"xattr", "-d", "com.apple.quarantine", own.path})});
    }
    const auto sees = sees_variables(facts);
    if (!sees || !own.content.is_macho()) {
        return;
    }
    if (*sees == SeesVariables::never) {
        into.push_back({.id = "metalrun-drops-variables",
                        .severity = Severity::warning,
                        .message = "metalrun is signed with the hardened runtime without the "
                                   "entitlement to read DYLD variables: libraries that its caller "
                                   "inserts are lost",
                        .help = "install a build that is signed with the entitlement "
                                "com.apple.security.cs.allow-dyld-environment-variables"});
    } else if (*sees == SeesVariables::always) {
        into.push_back({.id = "metalrun-not-hardened",
                        .message = "metalrun is not signed with the hardened runtime, as cross "
                                   "builds are not: what its caller inserts is loaded into "
                                   "metalrun, too"});
    }
}

void profiles(const Facts& facts, Findings& into) {
    for (const FoundProfile& profile : facts.profiles) {
        const std::string command =
            text::shell_command({"metalrun", "profile", "lint", profile.origin});
        for (const profile::Flaw& flaw : profile.flaws) {
            into.push_back({.id = std::string(flaw.id),
                            .severity = flaw.severity,
                            .message = profile::with_place(flaw, profile.origin),
                            .help = flaw.help.empty() ? "correct the file" : flaw.help,
                            .command = command});
        }
        if (profile.unread) {
            into.push_back(
                {.id = "profile-unread",
                 .severity = Severity::warning,
                 .message = profile.unread->message,
                 .facts = profile.unread->notes,
                 .help = profile.unread->help.empty() ? "correct the file" : profile.unread->help,
                 .command = command});
        }
    }
}

void state_folder(const Facts& facts, Findings& into) {
    const StateFolder& folder = facts.state;
    const auto unusable = [&](std::string_view what, std::string_view help, std::string command) {
        into.push_back(
            {.id = "state-folder-unusable",
             .severity = Severity::warning,
             .message = format("receipts cannot be kept in {}: {}", quote(folder.path), what),
             .facts =
                 folder.detail.empty() ? std::vector<std::string>{} : std::vector{folder.detail},
             .help = std::string(help),
             .command = std::move(command)});
    };
    const std::string put_aside =
        text::shell_command({"mv", "-i", folder.path, text::concat(folder.path, ".old")});
    switch (folder.state) {
    case StateFolder::State::usable:
    case StateFolder::State::not_made:
        return;
    case StateFolder::State::no_place:
        into.push_back({.id = "state-folder-missing",
                        .message = "there is no place for receipts, so that 'metalrun status' "
                                   "knows of no start",
                        .help = "set HOME, or METALRUN_STATE_DIR to an absolute path"});
        return;
    case StateFolder::State::not_a_folder:
        return unusable("it is no folder", "put it aside: the next start makes a folder",
                        put_aside);
    case StateFolder::State::of_another:
        return unusable("it belongs to another user",
                        "put it aside, or name another folder in METALRUN_STATE_DIR", put_aside);
    case StateFolder::State::open_to_others:
        return unusable("others may write to it", "close it to others",
                        text::shell_command({"chmod", "0700", folder.path}));
    case StateFolder::State::unseen:
        return unusable("it cannot be looked at", "name another folder in METALRUN_STATE_DIR", {});
    }
}

} // namespace

std::string pasteable(const std::string& help) {
    return help.find('\\') == std::string::npos ? help : std::string{};
}

std::vector<std::string> telling_boot_arguments(const HostFacts& host) {
    static constexpr std::array<std::string_view, 5> kTold{
        "amfi_get_out_of_my_way", "amfi_allow_any_signature", "amfi_unrestrict_task_for_pid",
        "cs_enforcement_disable", judge::rule::kArm64ePreview};
    std::vector<std::string> out;
    std::ranges::copy_if(host.boot_arguments, std::back_inserter(out), [](const std::string& seen) {
        return std::ranges::any_of(kTold,
                                   [&](std::string_view told) { return seen.starts_with(told); });
    });
    return out;
}

Shown shown_for(const HostFacts& host) {
    if (host.kernel == HostFacts::Kernel::linux) {
        return host.architecture == "x86_64" ? Shown{3, "the whole chain with a simulated device"}
                                             : Shown{0, "no run on this processor is on record"};
    }
    if (host.architecture != "arm64") {
        return {0, "the product is for Apple silicon"};
    }
    if (!profile::covers_os("13..26", host.os).value_or(false)) {
        return {0, "the rules are known for macOS 13 to 26"};
    }
    return {4, "the cross-compiled build inspected, and its machine code executed under emulation; "
               "no run on a Mac is on record, whatever the chip"};
}

Known<SeesVariables> sees_variables(const Facts& facts) {
    const target::Content& content = facts.own.content;
    if (content.is_elf()) {
        return is_macos(facts) ? Known<SeesVariables>(std::unexpected(std::string(
                                     "this metalrun is a Linux program, not the one of that Mac")))
                               : SeesVariables::always;
    }
    const macho::FileFacts* file = content.macho();
    if (file == nullptr || file->slices.empty()) {
        return std::unexpected(std::string("the file of metalrun could not be read"));
    }
    const std::string_view running = facts.host.translated == Tri::yes ? "x86_64" : "arm64";
    const auto slice = std::ranges::find(file->slices, running, &macho::SliceFacts::name);
    if (slice == file->slices.end()) {
        return std::unexpected(format("the file of metalrun has no {} slice", running));
    }
    const auto& parsed = slice->signature;
    if (!parsed) {
        return SeesVariables::always;
    }
    if (!*parsed) {
        return std::unexpected(format("its signature is broken: {}", parsed->error().message));
    }
    const macho::CodeSignature& signature = **parsed;
    if (!signature.is_hardened()) {
        return SeesVariables::always;
    }
    return signature.entitlements.is_true(macho::kAllowDyldVariables)
               ? SeesVariables::by_entitlement
               : SeesVariables::never;
}

bool needs_mending(const std::vector<Finding>& findings) {
    return std::ranges::any_of(
        findings, [](const Finding& finding) { return finding.severity != Severity::note; });
}

std::vector<Finding> diagnose(const Facts& facts) {
    Findings findings;
    for (const auto rule : {host, boot_arguments, device, ollama, shims, own_program, profiles,
                            session, state_folder}) {
        rule(facts, findings);
    }
    return findings;
}

} // namespace metalrun::doctor
