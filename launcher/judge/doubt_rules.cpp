// SPDX-License-Identifier: MIT
//
// What makes the outcome of an insertion into a Mach-O program doubtful, and what is only told.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "macho/format.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::judge {

namespace rule {

namespace {

// Where every sandboxed program may map libraries from (injection-rules 3.6). A name without a
// folder stands for a library that is not at hand here.
bool is_open_to_sandboxes(std::string_view path) {
    return path.find('/') == std::string_view::npos || path.starts_with("/System/") ||
           path.starts_with("/Library/") || path.starts_with("/usr/lib/");
}

} // namespace

// What the sandbox hides, dyld cannot load: without library validation that ends the program.
Found app_sandbox(const Question& q) {
    constexpr std::string_view kKey = "com.apple.security.app-sandbox";
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->entitlements.is_true(kKey)) {
        return std::nullopt;
    }
    const bool readable = q.shim == nullptr || is_open_to_sandboxes(q.shim->path);
    Finding finding = uncertain(
        readable || signature->has_library_validation() ? Outcome::stripped : Outcome::killed,
        FindingId::app_sandbox,
        format("{} is sandboxed: the library must lie where it may read", target_name(q)));
    finding.facts.push_back(entitlement_fact(*signature, kKey));
    if (!readable) {
        finding.facts.push_back(format("{} lies outside of the folders that every sandbox may read",
                                       quote(q.shim->path)));
    }
    finding.help =
        "put the library inside the app's container, or re-sign your own copy without it";
    return finding;
}

Found unusual_entitlement(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || signature->is_hardened()) {
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
            finding.help = "if the shim has no effect, re-sign your own copy without it";
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

// The kernel takes the DER form, older code the XML one (injection-rules 2.3); signers write both.
Found entitlements_disagree(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr) {
        return std::nullopt;
    }
    const macho::Entitlements& entitlements = signature->entitlements;
    const bool only_der = entitlements.has_der && !entitlements.has_xml;
    if (!entitlements.disagree && !only_der) {
        return std::nullopt;
    }
    Finding finding = remark(
        FindingId::entitlements_disagree, only_der ? Severity::note : Severity::warning,
        only_der ? format("the entitlements of {} are there in the DER form only", target_name(q))
                 : format("the two forms of the entitlements of {} do not say the same",
                          target_name(q)));
    finding.facts.emplace_back(entitlements.source == macho::EntitlementSource::der
                                   ? "the DER form counts, as for the kernel"
                                   : "the XML form counts, for the DER form cannot be read");
    for (const std::string& problem : {entitlements.der_problem, entitlements.xml_problem}) {
        if (!problem.empty()) {
            finding.facts.push_back(problem);
        }
    }
    finding.help = "sign your own copy anew (see metalrun(1), SIGNING)";
    return finding;
}

// Neither stops the kernel, and no signer writes it (corpus RULES, soft rows).
Found odd_signature(const Question& q) {
    const macho::CodeSignature* signature = target_signature(q);
    if (signature == nullptr || !signature->has_overlapping_blobs) {
        return std::nullopt;
    }
    return remark(FindingId::bad_signature, Severity::warning,
                  format("parts of the code signature of {} overlap: macOS may take it for altered",
                         target_name(q)));
}

Found odd_commands(const Question& q) {
    const macho::Image* image = target_image(q);
    if (image == nullptr || !image->has_unterminated_strings) {
        return std::nullopt;
    }
    return remark(FindingId::malformed, Severity::warning,
                  format("a path in the load commands of {} has no end of its own: dyld may refuse "
                         "the program",
                         target_name(q)));
}

// It runs beside macOS's own frameworks and takes libraries that are built for macOS
// (injection-rules 1.7).
Found catalyst(const Question& q) {
    const macho::Image* image = target_image(q);
    if (image == nullptr || image->platform() != macho::kPlatformMacCatalyst) {
        return std::nullopt;
    }
    return remark(FindingId::wrong_platform, Severity::note,
                  format("{} is built for Mac Catalyst, which takes libraries built for macOS",
                         target_name(q)));
}

Found slice_pinned(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    const macho::SliceFacts* slice = target_slice(q);
    if (file == nullptr || slice == nullptr || slice->name == "arm64e" ||
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
