// SPDX-License-Identifier: MIT
//
// The installed libraries: the judge's own rules, without a target, and what only an installation
// has.
#include "judge/doctor_parts.hpp"
#include "judge/rule_parts.hpp"
#include "report/shell_text.hpp"
#include "report/text.hpp"

#include <array>

namespace metalrun::doctor {

using judge::Severity;
using text::format;
using text::quote;

namespace {

constexpr std::string_view kInstallAgain = "install metalrun again";

// What mends a finding of the judge's; empty: nothing that one line could do.
std::string command_for(const Finding& finding, const judge::ShimFacts& shim) {
    const std::string copy = text::concat(shim.path, ".new");
    if (finding.id == "shim-quarantined") {
        return text::shell_command({"xattr", "-d", "com.apple.quarantine", shim.path});
    }
    if (finding.id == "shim-writable-by-others") {
        return pasteable(finding.help);
    }
    if (finding.id == "shim-unsigned") {
        // A new file: the kernel remembers the signature of the old one.
        return text::concat(text::shell_command({"cp", shim.path, copy}), " && ",
                            text::shell_command({"codesign", "--force", "--sign", "-", copy}),
                            " && ", text::shell_command({"mv", copy, shim.path}));
    }
    return {};
}

std::string help_for(const Finding& finding) {
    if (finding.id == "shim-quarantined") {
        return "take the mark off, if you trust where it came from";
    }
    if (finding.id == "shim-writable-by-others") {
        return "let nobody else write there";
    }
    if (finding.id == "shim-unsigned") {
        return "sign a copy, and put it in its place";
    }
    if (finding.id == "shim-on-shared-folder") {
        return "install metalrun on the guest's own disk";
    }
    return std::string(kInstallAgain);
}

void ask_judge(const Facts& facts, const InstalledShim& shim, Findings& into) {
    static constexpr std::array<judge::Rule, 11> kRules{
        judge::rule::shim_path,        judge::rule::shim_not_a_library,
        judge::rule::shim_platform,    judge::rule::shim_architecture,
        judge::rule::shim_unsigned,    judge::rule::shim_bad_signature,
        judge::rule::shim_quarantined, judge::rule::shim_writable_by_others,
        judge::rule::shim_known,       judge::rule::shim_on_shared_folder,
        judge::rule::shim_foreign};
    const Asker asker(facts, &shim.facts);
    for (const judge::Rule rule : kRules) {
        if (auto found = asker.ask(rule)) {
            found->command = command_for(*found, shim.facts);
            if (found->severity != Severity::note) {
                found->help = help_for(*found);
            }
            into.push_back(std::move(*found));
        }
    }
}

void missing(const Facts& facts, const InstalledShim& shim, Findings& into) {
    if (auto found = Asker(facts, &shim.facts).ask(judge::rule::shim_missing)) {
        // Without the universal one most programs still start with the thin one.
        found->severity = shim.universal ? Severity::warning : Severity::error;
        found->facts = {shim.universal ? "it is for programs whose children get the shim, too, and "
                                         "for those of another architecture than arm64"
                                       : "it is the one that most programs get"};
        found->help = std::string(kInstallAgain);
        into.push_back(std::move(*found));
    }
}

// What each of the two libraries is for (DESIGN: which library).
void slices(const InstalledShim& shim, Findings& into) {
    const macho::FileFacts* file = shim.facts.content.macho();
    if (file == nullptr) {
        return;
    }
    std::string lacking;
    for (const std::string_view name : {"arm64", "arm64e", "x86_64"}) {
        const bool is_needed = shim.universal || name == "arm64";
        if (is_needed && !judge::rule::has_slice(*file, name)) {
            lacking += text::concat(lacking.empty() ? "" : ", ", name);
        }
    }
    if (lacking.empty()) {
        return;
    }
    const bool only_arm64e = lacking == "arm64e";
    into.push_back(
        {.id = "shim-slices",
         .severity = only_arm64e ? Severity::note : Severity::error,
         .message = format("the shim {} has no slice for {}", quote(shim.facts.path), lacking),
         .facts = {format("it has: {}", judge::rule::slice_names(*file))},
         .help = only_arm64e ? "install a build that was made with Apple's tools: only "
                               "they make a true arm64e slice"
                             : std::string(kInstallAgain)});
}

void checksum(const InstalledShim& shim, Findings& into) {
    const judge::ShimFacts& facts = shim.facts;
    if (!shim.expected_sha256 || facts.sha256.empty() || facts.sha256 == *shim.expected_sha256) {
        return;
    }
    into.push_back({.id = "shim-checksum",
                    .severity = Severity::error,
                    .message = format("the shim {} is not the one that SHA256SUMS beside it names",
                                      quote(facts.path)),
                    .facts = {format("SHA-256 seen:     {}", facts.sha256),
                              format("SHA-256 expected: {}", *shim.expected_sha256)},
                    .help = std::string(kInstallAgain)});
}

} // namespace

void shims(const Facts& facts, Findings& into) {
    for (const InstalledShim& shim : facts.shims) {
        if (shim.facts.open_error != 0) {
            missing(facts, shim, into);
            continue;
        }
        ask_judge(facts, shim, into);
        slices(shim, into);
        checksum(shim, into);
    }
}

} // namespace metalrun::doctor
