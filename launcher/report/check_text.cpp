// SPDX-License-Identifier: MIT
#include "macho/facts.hpp"
#include "report/check_report.hpp"
#include "report/check_table.hpp"
#include "report/text.hpp"

#include <array>
#include <string_view>

namespace metalrun::report {

namespace {

std::string_view tri_word(Tri value, std::string_view yes, std::string_view no) {
    return value == Tri::yes ? yes : value == Tri::no ? no : "unknown";
}

std::string render_host(const HostFacts& host) {
    const std::string_view source = host.source == HostFacts::Source::file      ? "from a file"
                                    : host.source == HostFacts::Source::machine ? "this machine"
                                                                                : "assumed";
    const std::string_view system = host.kernel == HostFacts::Kernel::darwin ? "macOS" : "Linux";
    return text::format("host: {}{}{}, {}, guest: {}, System Integrity Protection: {} ({})\n",
                        system, host.os.empty() ? "" : " ", text::escape(host.os),
                        host.architecture.empty() ? std::string("unknown architecture")
                                                  : host.architecture,
                        tri_word(host.guest, "yes", "no"), tri_word(host.sip, "on", "off"), source);
}

std::string signature_text(const macho::SliceFacts& slice) {
    if (!slice.signature) {
        return "not signed";
    }
    if (!*slice.signature) {
        return "broken signature";
    }
    const macho::CodeSignature& signature = **slice.signature;
    std::string flags;
    for (const std::string& name : macho::flag_names(signature.best().flags)) {
        flags += text::concat(flags.empty() ? "" : ", ", name);
    }
    std::string out(signature.kind == macho::SignatureKind::cms ? "signed" : "ad hoc signed");
    if (!flags.empty()) {
        out += text::format(" (flags: {})", flags);
    }
    if (const std::optional<std::string>& team = signature.best().team; team) {
        out += text::format(", team {}", text::escape(*team));
    }
    if (signature.cms) {
        out += ", who signed it was not verified";
    }
    return out;
}

std::string pages_text(const std::optional<macho::PageCheck>& pages) {
    if (!pages || pages->checked == 0) {
        return {};
    }
    return pages->good()
               ? ", page hashes agree"
               : text::format(", {} of {} page hashes differ", pages->bad, pages->checked);
}

// The entitlements that the rules look at and that are granted.
std::string entitlements_text(const macho::SliceFacts& slice) {
    static constexpr std::array<std::string_view, 4> kTold{
        macho::kAllowDyldVariables, macho::kDisableLibraryValidation,
        "com.apple.security.app-sandbox", "com.apple.security.get-task-allow"};
    std::string out;
    for (const std::string_view key : kTold) {
        if (slice.signature && *slice.signature && (*slice.signature)->entitlements.is_true(key)) {
            out += text::format("    entitlement {}\n", key);
        }
    }
    return out;
}

std::string render_slices(const CheckedTarget& target) {
    std::string out;
    const auto& image = target.chain.image;
    if (const elf::Facts* facts = image ? image->content.elf() : nullptr; facts != nullptr) {
        out += text::format("  ELF {}, {}\n", elf::machine_name(facts->machine),
                            facts->interpreter.empty() ? std::string("static")
                                                       : text::escape(facts->interpreter));
    }
    if (image && image->content.macho() != nullptr) {
        const macho::FileFacts* file = image->content.macho();
        const std::vector<std::optional<macho::PageCheck>>& pages = image->pages;
        for (std::size_t i = 0; i < file->slices.size(); ++i) {
            const macho::SliceFacts& slice = file->slices[i];
            if (!slice.image) {
                out += text::format("  {} damaged\n", slice.name);
                continue;
            }
            out += text::format("  {} {}, {}{}{}\n", slice.name, slice.image->filetype_name,
                                signature_text(slice), i < pages.size() ? pages_text(pages[i]) : "",
                                slice.name == target.running_slice ? " (runs)" : "");
            out += entitlements_text(slice);
        }
    }
    return out;
}

std::string outcome_text(const judge::Verdict& verdict) {
    std::string out(judge::to_string(verdict.outcome));
    if (verdict.worst) {
        out += text::format(", at worst {}", judge::to_string(*verdict.worst));
    }
    return out;
}

// The way to the file that is judged, where it is not the file that was named.
std::string render_way(const target::Chain& chain) {
    std::string out;
    for (const target::Link& link : chain.links) {
        if (chain.links.size() > 1 && link.path != chain.typed) {
            out += text::format("  {} {}\n", target::to_string(link.kind), text::escape(link.path));
        }
    }
    return out;
}

std::string render_target(const CheckedTarget& target, Colour colour) {
    std::string out = text::format("\n{}: {}\n", text::escape(target.chain.typed),
                                   judge::to_string(target.verdict.decision));
    out += text::format("  if the library is inserted: {}\n", outcome_text(target.verdict));
    out += render_way(target.chain);
    out += render_slices(target);
    // What is known of the workload matters only where there will be one.
    const bool starts = target.verdict.decision != judge::Decision::refuse;
    for (const judge::Finding& finding : target.verdict.findings) {
        if (starts || finding.id != judge::FindingId::untested) {
            out += render(finding, colour);
        }
    }
    return out;
}

std::string render_walk(const CheckReport& report) {
    if (!report.walk) {
        return {};
    }
    std::string out =
        text::format("\nfiles looked at: {}, no programs: {}, links not followed: {}\n",
                     report.walk->files, report.walk->skipped, report.walk->links);
    for (const target::Unread& unread : report.walk->unread) {
        out += text::format("not looked at: {}: {}\n", text::escape(unread.path), unread.problem);
    }
    return out;
}

bool is_sure(const judge::Verdict& verdict) {
    return verdict.decision == judge::Decision::inject &&
           verdict.outcome != judge::Outcome::uncertain;
}

} // namespace

std::string render_check(const CheckReport& report, const OutputStyle& style) {
    std::string out = render_host(report.host);
    for (const std::string& assumption : report.assumptions) {
        out += text::format("assumed: {}\n", assumption);
    }
    const bool has_table = style.columns && report.targets.size() > 1;
    if (has_table) {
        out += text::concat("\n", render_table(report, *style.columns, style.colour));
    }
    for (const CheckedTarget& target : report.targets) {
        if (!has_table || !is_sure(target.verdict)) {
            out += render_target(target, style.colour);
        }
    }
    return out + render_walk(report);
}

} // namespace metalrun::report
