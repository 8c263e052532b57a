// SPDX-License-Identifier: MIT
#include "macho/facts.hpp"
#include "report/check_report.hpp"
#include "report/text.hpp"

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
    std::string out(signature.kind == macho::SignatureKind::cms ? "signed" : "ad hoc signed");
    for (const std::string& name : macho::flag_names(signature.best().flags)) {
        out += text::format(", {}", name);
    }
    if (const std::optional<std::string>& team = signature.best().team; team) {
        out += text::format(", team {}", text::escape(*team));
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
    if (const macho::FileFacts* file = image ? image->content.macho() : nullptr; file != nullptr) {
        for (const macho::SliceFacts& slice : file->slices) {
            out += text::format("  {} {}, {}{}\n", slice.name,
                                slice.image ? slice.image->filetype_name : std::string("damaged"),
                                signature_text(slice),
                                slice.name == target.running_slice ? " (runs)" : "");
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

} // namespace

std::string render_check(const CheckReport& report, Colour colour) {
    std::string out = render_host(report.host);
    for (const std::string& assumption : report.assumptions) {
        out += text::format("assumed: {}\n", assumption);
    }
    for (const CheckedTarget& target : report.targets) {
        out += text::format("\n{}: {}\n", text::escape(target.chain.typed),
                            judge::to_string(target.verdict.decision));
        out += text::format("  if the library is inserted: {}\n", outcome_text(target.verdict));
        out += render_slices(target);
        for (const judge::Finding& finding : target.verdict.findings) {
            out += render(finding, colour);
        }
    }
    return out;
}

} // namespace metalrun::report
