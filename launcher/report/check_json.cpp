// SPDX-License-Identifier: MIT
#include "macho/facts.hpp"
#include "report/check_report.hpp"
#include "report/json_text.hpp"
#include "report/plan_text.hpp"
#include "report/text.hpp"

#include <string_view>

namespace metalrun::report {

namespace {

using json::boolean;
using json::Object;
using json::string;
using json::string_or_null;
using json::strings;

std::string tri(Tri value) {
    return value == Tri::unknown ? "null" : boolean(value == Tri::yes);
}

std::string_view sip_word(Tri sip) {
    return sip == Tri::yes ? "on" : sip == Tri::no ? "off" : "unknown";
}

std::string render_host(const HostFacts& host) {
    const std::string_view source = host.source == HostFacts::Source::file      ? "file"
                                    : host.source == HostFacts::Source::machine ? "machine"
                                                                                : "assumed";
    return Object()
        .add("source", string(source))
        .add("system", string(host.kernel == HostFacts::Kernel::darwin ? "macOS" : "Linux"))
        .add("os", string_or_null(host.os))
        .add("build", string_or_null(host.build))
        .add("architecture", string_or_null(host.architecture))
        .add("chip", string_or_null(host.chip))
        .add("guest", tri(host.guest))
        .add("sip", string(sip_word(host.sip)))
        .render();
}

std::string render_entitlements(const macho::Entitlements& entitlements) {
    Object object;
    for (const macho::Entitlement& entry : entitlements.entries) {
        const bool is_boolean = entry.kind == macho::Entitlement::Kind::yes ||
                                entry.kind == macho::Entitlement::Kind::no;
        object.add(entry.key, is_boolean ? boolean(entry.kind == macho::Entitlement::Kind::yes)
                                         : string(entry.text));
    }
    return object.render();
}

// What the signer signed agrees with the directory, else the signature were broken; that he signed
// it is not verified.
std::string render_cms(const macho::CodeSignature& signature) {
    if (!signature.cms) {
        return "null";
    }
    return Object()
        .add("digest_agrees", boolean(true))
        .add("signature_verified", boolean(false))
        .render();
}

std::string source_of(const macho::Entitlements& entitlements) {
    switch (entitlements.source) {
    case macho::EntitlementSource::none:
        break;
    case macho::EntitlementSource::xml:
        return string("xml");
    case macho::EntitlementSource::der:
        return string("der");
    }
    return "null";
}

// What is wrong with the slice itself, apart from its signature.
std::string problem_of(const macho::SliceFacts& slice) {
    if (!slice.image) {
        return string(slice.image.error().message);
    }
    const std::optional<std::string>& problem = slice.image->kernel_problem;
    return problem ? string(*problem) : "null";
}

std::string platform_of(const macho::SliceFacts& slice) {
    return slice.image && !slice.image->versions.empty()
               ? string(slice.image->versions.front().platform_name)
               : "null";
}

// `pages` is null where the page hashes were not checked.
std::string render_signature(const macho::SliceFacts& slice, const macho::PageCheck* pages) {
    if (!slice.signature) {
        return "null";
    }
    if (!*slice.signature) {
        return Object()
            .add("kind", string("broken"))
            .add("problem", string(slice.signature->error().message))
            .render();
    }
    const macho::CodeSignature& signature = **slice.signature;
    const macho::CodeDirectory& best = signature.best();
    std::string checked = "null";
    if (pages != nullptr) {
        checked =
            Object()
                .add("checked", std::to_string(pages->checked))
                .add("bad", std::to_string(pages->bad))
                .add("first_bad", pages->first_bad ? std::to_string(*pages->first_bad) : "null")
                .render();
    }
    return Object()
        .add("kind", string(signature.kind == macho::SignatureKind::cms ? "cms" : "adhoc"))
        .add("flags", strings(macho::flag_names(best.flags)))
        .add("identifier", string(best.identifier))
        .add("team", best.team ? string(*best.team) : "null")
        .add("cdhash", string_or_null(best.cdhash))
        .add("hash", string(macho::hash_type_name(best.hash_type)))
        .add("hardened", boolean(signature.is_hardened()))
        .add("library_validation", boolean(signature.has_library_validation()))
        .add("entitlements", render_entitlements(signature.entitlements))
        .add("entitlements_from", source_of(signature.entitlements))
        .add("cms", render_cms(signature))
        .add("pages", checked)
        .render();
}

std::string render_slices(const CheckedTarget& target) {
    std::string out;
    const std::optional<target::Image>& image = target.chain.image;
    if (!image || image->content.macho() == nullptr) {
        return "[]";
    }
    const macho::FileFacts* file = image->content.macho();
    const std::vector<std::optional<macho::PageCheck>>& checks = image->pages;
    for (std::size_t i = 0; i < file->slices.size(); ++i) {
        const macho::SliceFacts& slice = file->slices[i];
        const std::optional<macho::PageCheck> check =
            i < checks.size() ? checks[i] : std::optional<macho::PageCheck>();
        const macho::PageCheck* pages = check ? &*check : nullptr;
        const std::string rendered =
            Object()
                .add("architecture", string(slice.name))
                .add("runs", boolean(slice.name == target.running_slice))
                .add("type", slice.image ? string(slice.image->filetype_name) : "null")
                .add("platform", platform_of(slice))
                .add("problem", problem_of(slice))
                .add("signature", render_signature(slice, pages))
                .render();
        out += text::concat(out.empty() ? "" : ", ", rendered);
    }
    return text::concat("[", out, "]");
}

std::string_view severity_word(judge::Severity severity) {
    return severity == judge::Severity::error     ? "error"
           : severity == judge::Severity::warning ? "warning"
                                                  : "note";
}

std::string render_findings(const judge::Verdict& verdict) {
    std::string out;
    for (const judge::Finding& finding : verdict.findings) {
        out += text::concat(out.empty() ? "" : ", ",
                            Object()
                                .add("id", string(judge::to_string(finding.id)))
                                .add("severity", string(severity_word(finding.severity)))
                                .add("message", string(finding.message))
                                .add("facts", strings(finding.facts))
                                .add("help", string_or_null(finding.help))
                                .render());
    }
    return text::concat("[", out, "]");
}

std::string render_chain(const target::Chain& chain) {
    std::string out;
    for (const target::Link& link : chain.links) {
        out += text::concat(out.empty() ? "" : ", ",
                            Object()
                                .add("path", string(link.path))
                                .add("kind", string(target::to_string(link.kind)))
                                .render());
    }
    return text::concat("[", out, "]");
}

std::string render_target(const CheckedTarget& target) {
    const judge::Verdict& verdict = target.verdict;
    return Object()
        .add("path", string(target.chain.typed))
        .add("decision", string(judge::to_string(verdict.decision)))
        .add("outcome", string(judge::to_string(verdict.outcome)))
        .add("worst", verdict.worst ? string(judge::to_string(*verdict.worst)) : "null")
        .add("reason", verdict.reason ? string(judge::to_string(*verdict.reason)) : "null")
        .add("library", string_or_null(target.library))
        .add("children", string(target.children))
        .add("profile", string(target.profile))
        .add("chosen", render_choice_json(target.choice))
        .add("chain", render_chain(target.chain))
        .add("slices", render_slices(target))
        .add("findings", render_findings(verdict))
        .render();
}

std::string render_walk(const std::optional<target::Walk>& walk) {
    if (!walk) {
        return "null";
    }
    std::string unread;
    for (const target::Unread& entry : walk->unread) {
        unread +=
            text::concat(unread.empty() ? "" : ", ", Object()
                                                         .add("path", string(entry.path))
                                                         .add("problem", string(entry.problem))
                                                         .render());
    }
    return Object()
        .add("files", std::to_string(walk->files))
        .add("skipped", std::to_string(walk->skipped))
        .add("links", std::to_string(walk->links))
        .add("unread", text::concat("[", unread, "]"))
        .render();
}

} // namespace

std::string render_check_json(const CheckReport& report) {
    std::string targets;
    for (const CheckedTarget& target : report.targets) {
        targets += text::concat(targets.empty() ? "" : ",\n  ", render_target(target));
    }
    return text::concat(Object()
                            .add("metalrun", string(report.version))
                            .add("host", render_host(report.host))
                            .add("assumptions", strings(report.assumptions))
                            .add("folders", render_walk(report.walk))
                            .add("targets", text::concat("[\n  ", targets, "\n]"))
                            .render(),
                        "\n");
}

} // namespace metalrun::report
