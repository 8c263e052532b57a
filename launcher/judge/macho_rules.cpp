// SPDX-License-Identifier: MIT
//
// Whether macOS starts a Mach-O program and lets a foreign library in. Sources: xnu-11417
// kern_exec.c, mach_loader.c, ubc_subr.c and cs_blobs.h for the launch; AMFI's published inputs for
// the rest (metalrun(1), DIAGNOSTICS). Nothing here was observed on a Mac.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "macho/format.hpp"
#include "profile/values.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::judge {

namespace rule {

namespace {

constexpr std::uint32_t kCsRestrict = 0x800;     // cs_blobs.h CS_RESTRICT
constexpr std::uint32_t kCsRuntime = 0x10000;    // cs_blobs.h CS_RUNTIME
constexpr std::uint32_t kSfRestricted = 0x80000; // sys/stat.h SF_RESTRICTED
constexpr std::string_view kResign = "to inject, re-sign your own copy (see metalrun(1), SIGNING); "
                                     "to start it without the shim, use "
                                     "'--stock'";

std::string flags_fact(const Question& q, const macho::CodeSignature& signature) {
    std::string names;
    for (const std::string& name : macho::flag_names(signature.best().flags)) {
        names += names.empty() ? "" : ", ";
        names += name;
    }
    return format("{} slice: code directory flags {:#x} ({})", target_slice(q)->name,
                  signature.best().flags, names.empty() ? std::string("none") : names);
}

std::string entitlement_fact(const macho::CodeSignature& signature, std::string_view key) {
    const macho::Entitlement* entry = signature.entitlements.find(key);
    return entry == nullptr ? format("entitlement {} is absent", key)
                            : format("entitlement {} is {}", key, entry->text);
}

const macho::Image* target_image(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    return slice != nullptr && slice->image ? &*slice->image : nullptr;
}

bool is_macos_26_or_later(const HostFacts& host) {
    return profile::covers_os(">=26", host.os).value_or(false);
}

} // namespace

Found not_a_program(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || !image->content.is_macho() ||
        q.host.kernel == HostFacts::Kernel::darwin) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::no_start, FindingId::not_a_program,
                 format("{} is a macOS program, this machine runs Linux", target_name(q)));
    finding.help = "use a build for this machine";
    return finding;
}

Found macho_not_executable(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    if (file == nullptr) {
        return std::nullopt;
    }
    const macho::SliceFacts* slice = target_slice(q);
    const macho::SliceFacts& shown = slice != nullptr ? *slice : file->slices.front();
    Finding finding = error_at(Step::launch, Outcome::no_start, FindingId::not_executable, {});
    if (file->container == macho::Container::universal64) {
        finding.message = format("{} has a 64-bit universal header, which the kernel does not run",
                                 target_name(q));
        finding.help = "use a build with a 32-bit universal header (lipo -create without -fat64)";
        return finding;
    }
    if (!shown.image || shown.image->is_executable()) {
        return std::nullopt;
    }
    finding.message =
        format("{} is a {}, not a program", target_name(q), shown.image->filetype_name);
    finding.help = "name the program that uses it";
    return finding;
}

Found macho_wrong_architecture(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    if (file == nullptr) {
        return std::nullopt;
    }
    const macho::SliceFacts* slice = target_slice(q);
    const bool refused_arm64e =
        slice != nullptr && slice->name == "arm64e" && !is_macos_26_or_later(q.host);
    if (slice != nullptr && !refused_arm64e) {
        return std::nullopt;
    }
    // Translated by Rosetta, an Intel program starts, but stock unless it was asked for.
    const bool translates = slice == nullptr && !q.plan.arch && has_slice(*file, "x86_64");
    Finding finding =
        error_at(translates ? Step::target : Step::launch,
                 translates ? Outcome::stripped : Outcome::no_start, FindingId::wrong_architecture,
                 format("{} has no arm64 slice", target_name(q)));
    finding.facts.push_back(format("slices: {}", slice_names(*file)));
    finding.help = translates ? "use an arm64 build; '--arch x86_64' starts it translated"
                              : "use an arm64 build";
    return finding;
}

Found arm64e_not_allowed(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr || slice->name != "arm64e" || is_macos_26_or_later(q.host)) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::no_start, FindingId::arm64e_not_allowed,
                 format("{} is arm64e only: macOS before 26 runs no arm64e programs but "
                        "Apple's own",
                        target_name(q)));
    finding.help = "use an arm64 build";
    return finding;
}

Found wrong_platform(const Question& q) {
    const macho::Image* image = target_image(q);
    if (image == nullptr || image->versions.empty() || image->platform() == macho::kPlatformMacos ||
        image->platform() == macho::kPlatformMacCatalyst) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::launch, Outcome::no_start, FindingId::wrong_platform,
                               format("{} is built for {}, not for macOS", target_name(q),
                                      image->versions.front().platform_name));
    finding.help = "use a build for macOS";
    return finding;
}

Found kernel_refuses(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr) {
        return std::nullopt;
    }
    std::string why;
    if (!slice->image) {
        why = slice->image.error().message;
    } else if (const std::optional<std::string>& problem = slice->image->kernel_problem;
               problem && slice->name.starts_with("arm64")) {
        why = *problem;
    }
    if (why.empty()) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::no_start, FindingId::malformed,
                 format("{}: {} slice: {}", text::escape(image_of(q)->path), slice->name, why));
    finding.help = "the file is damaged or was built wrongly: install it again";
    return finding;
}

Found unsigned_code(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr || slice->signature || !slice->image ||
        !slice->name.starts_with("arm64")) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::killed, FindingId::unsigned_code,
                 format("{} is not signed: macOS ends unsigned arm64 programs", target_name(q)));
    finding.facts.push_back(format("{} slice: no LC_CODE_SIGNATURE", slice->name));
    finding.help = "sign your own copy: codesign --force --sign - COPY";
    return finding;
}

Found bad_signature(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr || !slice->signature || !slice->name.starts_with("arm64")) {
        return std::nullopt;
    }
    std::string why;
    if (!*slice->signature) {
        why = slice->signature->error().message;
    }
    const auto index = static_cast<std::size_t>(slice - target_macho(q)->slices.data());
    const auto& pages = image_of(q)->pages;
    const macho::PageCheck check =
        index < pages.size() ? pages[index].value_or(macho::PageCheck{}) : macho::PageCheck{};
    if (!check.good()) {
        why = format("{} of {} page hashes are wrong, the first is that of page {}", check.bad,
                     check.checked, check.first_bad.value_or(0));
    }
    if (why.empty()) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::killed, FindingId::bad_signature,
                 format("the code signature of {} is broken: macOS ends altered arm64 "
                        "programs",
                        target_name(q)));
    finding.facts.push_back(format("{} slice: {}", slice->name, why));
    finding.help =
        "install it again; if you changed it yourself, sign a new copy: codesign --force "
        "--sign - COPY";
    return finding;
}

// The trust cache decides; on disk the directory's platform number and the file flag are hints.
Found platform_binary(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    const bool restricted =
        target_macho(q) != nullptr && (image_of(q)->status.flags & kSfRestricted) != 0;
    const bool is_platform =
        restricted || (signature != nullptr && signature->best().platform != 0);
    if (!is_platform) {
        return std::nullopt;
    }
    const std::string sentence =
        format("{} belongs to macOS: System Integrity Protection keeps libraries out of it",
               target_name(q));
    if (q.host.sip == Tri::no) {
        return remark(FindingId::platform_binary, Severity::warning, sentence);
    }
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::platform_binary, sentence);
    if (signature != nullptr) {
        finding.facts.push_back(format("code directory: platform {}", signature->best().platform));
    }
    finding.help = "use a build that is not Apple's (Homebrew), or '--stock'";
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
    Finding finding = q.host.sip == Tri::no
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
    if (signature == nullptr || !signature->has_flag(kCsRuntime) ||
        signature->entitlements.is_true(macho::kAllowDyldVariables)) {
        return std::nullopt;
    }
    const std::string sentence =
        format("{} ignores DYLD_INSERT_LIBRARIES: it uses the hardened runtime", target_name(q));
    Finding finding =
        q.host.sip == Tri::no
            ? remark(FindingId::hardened_runtime, Severity::warning, sentence)
            : error_at(Step::target, Outcome::stripped, FindingId::hardened_runtime, sentence);
    finding.facts = {flags_fact(q, *signature),
                     entitlement_fact(*signature, macho::kAllowDyldVariables)};
    finding.help = std::string(kResign);
    return finding;
}

// A library passes library validation if it is Apple's, or signed by the same team; ad-hoc code has
// no team (xnu kern_cs.c cs_require_lv; AMFI's texts).
Found library_validation(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->has_library_validation()) {
        return std::nullopt;
    }
    const std::string team = signature->kind == macho::SignatureKind::cms
                                 ? signature->best().team.value_or(std::string{})
                                 : std::string{};
    if (const macho::FileFacts* library = shim_macho(q); library != nullptr && !team.empty()) {
        const bool same = std::all_of(
            library->slices.begin(), library->slices.end(), [&](const macho::SliceFacts& slice) {
                return slice.signature && *slice.signature &&
                       (*slice.signature)->kind == macho::SignatureKind::cms &&
                       (*slice.signature)->best().team == team;
            });
        if (same) {
            return std::nullopt;
        }
    }
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::library_validation,
                 format("{} would refuse to load the shim: it accepts only libraries of "
                        "its own developer",
                        target_name(q)));
    finding.facts = {
        flags_fact(q, *signature), entitlement_fact(*signature, macho::kDisableLibraryValidation),
        team.empty()
            ? format("{} has no team identifier, so only Apple's libraries pass", target_name(q))
            : format("its team identifier is {}; the shim has none", quote(team))};
    finding.help = std::string(kResign);
    return finding;
}

Found app_sandbox(const Question& q) {
    constexpr std::string_view kKey = "com.apple.security.app-sandbox";
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->entitlements.is_true(kKey)) {
        return std::nullopt;
    }
    Finding finding = uncertain(
        Outcome::stripped, FindingId::app_sandbox,
        format("{} is sandboxed: the library must lie where it may read", target_name(q)));
    finding.facts.push_back(entitlement_fact(*signature, kKey));
    finding.help =
        "put the library inside the app's container, or re-sign your own copy without it";
    return finding;
}

Found unusual_entitlement(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || signature->has_flag(kCsRuntime)) {
        return std::nullopt;
    }
    static constexpr std::array<std::string_view, 4> kUsual{
        "com.apple.security.cs.", "com.apple.security.get-task-allow",
        "com.apple.security.app-sandbox", "com.apple.security.hardened-process"};
    std::vector<std::string> unusual;
    for (const macho::Entitlement& entry : signature->entitlements.entries) {
        const bool usual = entry.key == "get-task-allow" ||
                           std::any_of(kUsual.begin(), kUsual.end(), [&](std::string_view prefix) {
                               return entry.key.starts_with(prefix);
                           });
        if (!usual) {
            unusual.push_back(format("entitlement {} is {}", text::escape(entry.key), entry.text));
        }
    }
    if (unusual.empty()) {
        return std::nullopt;
    }
    Finding finding =
        uncertain(Outcome::stripped, FindingId::unusual_entitlement,
                  format("macOS may protect {} because of its entitlements", target_name(q)));
    finding.facts = std::move(unusual);
    finding.help = "if the shim has no effect, re-sign your own copy with "
                   "com.apple.security.cs.allow-dyld-environment-variables";
    return finding;
}

namespace {

Found constraint(const Question& q, bool (*wanted)(std::uint32_t), FindingId id,
                 std::string_view what) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || std::none_of(signature->constraint_slots.begin(),
                                             signature->constraint_slots.end(), wanted)) {
        return std::nullopt;
    }
    Finding finding = uncertain(Outcome::killed, id, format("{} {}", target_name(q), what));
    for (const std::uint32_t slot : signature->constraint_slots) {
        if (wanted(slot)) {
            finding.facts.push_back(format("code signature slot {}", slot));
        }
    }
    finding.help = "'--when-uncertain inject' tries it; '--stock' starts it without the shim";
    return finding;
}

} // namespace

Found launch_constraint(const Question& q) {
    return constraint(
        q, [](std::uint32_t slot) { return slot >= 8 && slot <= 10; }, FindingId::launch_constraint,
        "says from where it may be started, and may be ended when metalrun starts it");
}

Found library_constraint(const Question& q) {
    return constraint(
        q, [](std::uint32_t slot) { return slot == 11; }, FindingId::library_constraint,
        "says which libraries it loads, and may be ended when it is given another");
}

Found enhanced_security(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr) {
        return std::nullopt;
    }
    for (const macho::Entitlement& entry : signature->entitlements.entries) {
        if (entry.key.starts_with("com.apple.security.hardened-process")) {
            Finding finding = uncertain(Outcome::stripped, FindingId::enhanced_security,
                                        format("{} uses macOS's enhanced security, whose effect on "
                                               "inserted libraries is not published",
                                               target_name(q)));
            finding.facts.push_back(format("entitlement {}", text::escape(entry.key)));
            return finding;
        }
    }
    return std::nullopt;
}

Found quarantined(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || !image->quarantined) {
        return std::nullopt;
    }
    Finding finding =
        uncertain(Outcome::killed, FindingId::quarantined,
                  format("macOS has not yet approved {} (com.apple.quarantine)", target_name(q)));
    finding.help =
        format("open it once, or: xattr -d com.apple.quarantine {}", text::escape(image->path));
    return finding;
}

Found slice_pinned(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    const macho::SliceFacts* slice = target_slice(q);
    if (file == nullptr || slice == nullptr || slice->name != "arm64" ||
        !has_slice(*file, "arm64e")) {
        return std::nullopt;
    }
    return remark(
        FindingId::slice_pinned, Severity::note,
        format("{} has an arm64e slice, too, which the kernel would prefer; metalrun starts "
               "the arm64 slice that was judged",
               target_name(q)));
}

Found rosetta(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr || slice->name != "x86_64") {
        return std::nullopt;
    }
    return remark(FindingId::rosetta, Severity::note,
                  format("{} is started translated (Rosetta), with the library's Intel slice",
                         target_name(q)));
}

} // namespace rule

} // namespace metalrun::judge
