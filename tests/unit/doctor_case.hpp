// SPDX-License-Identifier: MIT
//
// A guest on which nothing needs mending: macOS 26.5 on Apple silicon, both libraries as they were
// installed, a hardened metalrun with its entitlement. Each test changes one thing.
#pragma once

#include "judge/doctor_rules.hpp"
#include "judge_case.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace metalrun::test {

inline doctor::InstalledShim installed_shim(const std::vector<std::string>& slices,
                                            const std::string& path) {
    macho::FileFacts file;
    for (const std::string& name : slices) {
        file.slices.push_back(slice_of(name, macho::kMhDylib, 0x2));
        file.slices.back().image->marker = "shim";
    }
    doctor::InstalledShim shim{.facts = {.path = path},
                               .universal = slices.size() > 1,
                               .expected_sha256 = std::string(64, 'a')};
    shim.facts.status.kind = FileKind::regular;
    shim.facts.sha256 = std::string(64, 'a');
    shim.facts.content.parsed = target::MachoResult(std::move(file));
    return shim;
}

inline doctor::Facts healthy_guest() {
    doctor::Facts facts{.host = {.kernel = HostFacts::Kernel::darwin,
                                 .os = "26.5",
                                 .build = "25F71",
                                 .architecture = "arm64",
                                 .chip = "Apple M4 (Virtual)",
                                 .guest = Tri::yes,
                                 .sip = Tri::yes,
                                 .translated = Tri::no},
                        .home = "/Users/u"};
    facts.device = report::DeviceAnswers{
        .device = "Apple Paravirtual device", .apple_family = 1009, .threadgroup_memory = 32768};
    facts.ollama_listens = false;
    facts.shims = {installed_shim({"arm64"}, "/opt/m/lib/metalrun/libmetalrun_shim.dylib"),
                   installed_shim({"arm64", "arm64e", "x86_64"},
                                  "/opt/m/lib/metalrun/libmetalrun_shim_universal.dylib")};
    facts.probe = "/opt/m/libexec/metalrun/metalrun-probe";
    facts.own.path = "/opt/m/bin/metalrun";
    macho::FileFacts own;
    own.slices = {slice_of("arm64", macho::kMhExecute, kHardened)};
    (*own.slices.front().signature)
        ->entitlements.entries.push_back(
            {.key = kAllow, .kind = macho::Entitlement::Kind::yes, .text = "true"});
    facts.own.content.parsed = target::MachoResult(std::move(own));
    facts.profiles = {{.name = "mine",
                       .origin = "/Users/u/.config/metalrun/mine.toml",
                       .place = "/Users/u/.config/metalrun"},
                      {.name = "default", .origin = "built-in", .shipped = true}};
    facts.session_insertion = std::string();
    facts.state = {.path = "/var/folders/u/C/metalrun",
                   .state = doctor::StateFolder::State::usable};
    return facts;
}

inline macho::FileFacts& macho_of(target::Content& content) {
    return *std::get<target::MachoResult>(content.parsed);
}

inline std::vector<std::string> ids_of(const doctor::Facts& facts) {
    std::vector<std::string> ids;
    for (const doctor::Finding& finding : doctor::diagnose(facts)) {
        ids.push_back(finding.id);
    }
    return ids;
}

} // namespace metalrun::test
