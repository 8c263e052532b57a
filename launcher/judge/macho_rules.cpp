// SPDX-License-Identifier: MIT
//
// Whether a Mach-O program that starts lets a foreign library in: AMFI's published inputs, dyld
// ProcessConfig, xnu cs_blobs.h and kern_cs.c. Nothing here was observed on a Mac.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace metalrun::judge {

namespace rule {

namespace {

constexpr std::uint32_t kCsRestrict = 0x800; // cs_blobs.h CS_RESTRICT
constexpr std::string_view kGetTaskAllow = "get-task-allow";
constexpr std::string_view kGetTaskAllowMacos = "com.apple.security.get-task-allow";
constexpr std::string_view kResign =
    "to inject, sign your own copy: 'cp FILE COPY && codesign --force --sign - COPY' (metalrun(1), "
    "SIGNING, says what that may break); to start it without the shim, use '--stock'";

} // namespace

namespace {

Finding protected_by_macos(const Question& q) {
    const bool in_script = starts_as_script(q);
    Finding finding = error_at(
        Step::target, Outcome::stripped, FindingId::platform_binary,
        in_script
            ? format("{} runs in {}, which belongs to macOS: System Integrity Protection keeps "
                     "libraries out of it",
                     quote(q.chain.links.front().path), target_name(q))
            : format("{} belongs to macOS: System Integrity Protection keeps libraries out of it",
                     target_name(q)));
    finding.help =
        in_script
            ? "put 'exec metalrun -- PROGRAM' inside the script, in front of the program that "
              "computes"
            : "use a build that is not Apple's (Homebrew), or '--stock'";
    return finding;
}

} // namespace

// The trust cache decides; on disk its place, the directory's platform number and the file flag are
// hints.
Found platform_binary(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    const bool in_place = is_system_program(q);
    const bool says_so = signature != nullptr && signature->best().platform != 0;
    if (!in_place && !says_so) {
        return std::nullopt;
    }
    Finding finding = protected_by_macos(q);
    if (in_place) {
        finding.facts.push_back(format("{} lies on the system volume", target_name(q)));
    }
    if (says_so) {
        finding.facts.push_back(format("code directory: platform {}", signature->best().platform));
    }
    if (says_so && !in_place) {
        finding.facts.emplace_back("it does not lie in its place: a copy of a macOS program may be "
                                   "ended when it starts");
    }
    if (q.host.sip == Tri::no || is_enforcement_off(q)) {
        return as_warning(std::move(finding));
    }
    return finding;
}

Found encrypted(const Question& q) {
    const macho::Image* image = target_image(q);
    if (image == nullptr || image->cryptid == 0) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::target, Outcome::stripped, FindingId::encrypted,
                               format("{} is encrypted for an Apple account", target_name(q)));
    finding.facts.push_back(format("cryptid {}", image->cryptid));
    finding.help = "use a build from the developer's own site, or '--stock'";
    return finding;
}

namespace {

// With System Integrity Protection off, what restriction means is not published.
Finding restriction(const Question& q, FindingId id, std::string message, std::string fact) {
    Finding finding = q.host.sip == Tri::no || is_enforcement_off(q)
                          ? uncertain(Outcome::stripped, id, std::move(message))
                          : error_at(Step::target, Outcome::stripped, id, std::move(message));
    finding.facts.push_back(std::move(fact));
    return finding;
}

} // namespace

Found restrict_segment(const Question& q) {
    const macho::Image* image = target_image(q);
    if (image == nullptr || !image->has_restrict_section) {
        return std::nullopt;
    }
    Finding finding =
        restriction(q, FindingId::restrict_segment,
                    format("{} ignores DYLD_INSERT_LIBRARIES: its developer closed it to injection",
                           target_name(q)),
                    "it has a section __RESTRICT,__restrict");
    finding.help = "use another build, or '--stock'";
    return finding;
}

Found restrict_flag(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->has_flag(kCsRestrict)) {
        return std::nullopt;
    }
    Finding finding = restriction(
        q, FindingId::restrict_flag,
        format("{} ignores DYLD_INSERT_LIBRARIES: its signature asks for it", target_name(q)),
        flags_fact(q, *signature));
    finding.help = std::string(kResign);
    return finding;
}

Found hardened_runtime(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->is_hardened() ||
        signature->entitlements.is_true(macho::kAllowDyldVariables)) {
        return std::nullopt;
    }
    const std::string sentence =
        format("{} ignores DYLD_INSERT_LIBRARIES: it uses the hardened runtime", target_name(q));
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::hardened_runtime, sentence);
    finding.facts = {flags_fact(q, *signature),
                     entitlement_fact(*signature, macho::kAllowDyldVariables)};
    for (const std::string_view key : {kGetTaskAllow, kGetTaskAllowMacos}) {
        if (signature->entitlements.is_true(key)) {
            finding.facts.push_back(
                format("{}: macOS may honour the variable in such a build on a developer's machine",
                       entitlement_fact(*signature, key)));
        }
    }
    finding.help = std::string(kResign);
    if (q.host.sip == Tri::no || is_enforcement_off(q)) {
        return as_warning(std::move(finding));
    }
    return finding;
}

namespace {

std::string_view team_of(const macho::CodeSignature& signature) {
    const std::optional<std::string>& team = signature.best().team;
    // Worthless on ad hoc code (injection-rules 2.5).
    return signature.kind == macho::SignatureKind::cms && team ? std::string_view(*team)
                                                               : std::string_view{};
}

// The team of all of the library's slices, or nothing.
std::string_view shim_team(const Question& q) {
    std::optional<std::string_view> team;
    const macho::FileFacts* library = shim_macho(q);
    if (library == nullptr) {
        return {};
    }
    for (const macho::SliceFacts& slice : library->slices) {
        const std::string_view own =
            slice.signature && *slice.signature ? team_of(**slice.signature) : std::string_view{};
        if (team.value_or(own) != own) {
            return {};
        }
        team = own;
    }
    return team.value_or(std::string_view{});
}

std::string team_fact(const Question& q, std::string_view team) {
    if (team.empty()) {
        return format("{} has no team identifier, so only Apple's libraries pass", target_name(q));
    }
    const std::string_view other = shim_team(q);
    return other.empty()
               ? format("its team identifier is {}, the shim has none", quote(team))
               : format("its team identifier is {}, the shim's is {}", quote(team), quote(other));
}

} // namespace

// A library passes library validation if it is Apple's, or signed by the same team; ad-hoc code has
// no team (xnu kern_cs.c cs_require_lv; AMFI's texts).
Found library_validation(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->has_library_validation()) {
        return std::nullopt;
    }
    const std::string_view team = team_of(*signature);
    if (!team.empty() && shim_team(q) == team) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::library_validation,
                 format("{} would refuse to load the shim: it accepts only libraries of "
                        "its own developer",
                        target_name(q)));
    finding.facts = {flags_fact(q, *signature),
                     entitlement_fact(*signature, macho::kDisableLibraryValidation),
                     team_fact(q, team)};
    if (signature->entitlements.is_true(macho::kDisableLibraryValidation)) {
        finding.facts.emplace_back("the flag is taken to win over the entitlement");
    }
    finding.help = std::string(kResign);
    return is_enforcement_off(q) ? as_warning(std::move(finding)) : finding;
}

} // namespace rule

} // namespace metalrun::judge
