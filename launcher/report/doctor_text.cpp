// SPDX-License-Identifier: MIT
#include "report/doctor_report.hpp"
#include "report/json_text.hpp"
#include "report/text.hpp"

#include <algorithm>

namespace metalrun::report {

namespace {

using judge::Severity;

std::string_view severity_word(Severity severity) {
    return severity == Severity::error     ? "error"
           : severity == Severity::warning ? "warning"
                                           : "note";
}

std::string render_section(const DoctorSection& section) {
    std::string out = text::concat(section.title, "\n");
    for (const DoctorLine& line : section.lines) {
        out +=
            text::format("  {}: {}\n", text::escape(line.label),
                         line.value ? text::escape(*line.value)
                                    : text::concat("unknown: ", text::escape(line.value.error())));
    }
    return out + "\n";
}

std::string summary(const DoctorReport& report) {
    const auto count = [&](Severity severity) {
        return std::ranges::count(report.findings, severity, &doctor::Finding::severity);
    };
    const auto errors = count(Severity::error);
    const auto warnings = count(Severity::warning);
    return errors + warnings == 0 ? std::string("nothing needs mending\n")
                                  : text::format("to be mended: {} (errors: {}, warnings: {})\n",
                                                 errors + warnings, errors, warnings);
}

std::string in_home(const std::string& path, const std::string& home) {
    const bool lies_there = !home.empty() && home != "/" && path.starts_with(home) &&
                            (path.size() == home.size() || path[home.size()] == '/');
    return lies_there ? text::concat("~", path.substr(home.size())) : path;
}

std::string word_or_unknown(const std::string& word) {
    return word.empty() ? "unknown" : text::escape(word);
}

std::string tri_word(Tri value, std::string_view yes, std::string_view no) {
    return std::string(value == Tri::yes ? yes : value == Tri::no ? no : "unknown");
}

std::string version_of(const HostFacts& host) {
    return host.kernel == HostFacts::Kernel::darwin
               ? text::format(" {} (build {})", word_or_unknown(host.os),
                              word_or_unknown(host.build))
               : std::string{};
}

} // namespace

std::string bug_report(const DoctorReport& report) {
    const doctor::Facts& facts = report.facts;
    const HostFacts& host = facts.host;
    std::string out = report.commit.empty()
                          ? text::format("metalrun {}\n", report.version)
                          : text::format("metalrun {} ({})\n", report.version, report.commit);
    out += text::format("host: {}{}{}, {}\n", facts.facts_file.empty() ? "" : "simulated ",
                        host.kernel == HostFacts::Kernel::darwin ? "macOS" : "Linux",
                        version_of(host), word_or_unknown(host.architecture));
    out += text::format("chip: {}\nguest: {}\n", word_or_unknown(host.chip),
                        tri_word(host.guest, "yes", "no"));
    if (host.kernel == HostFacts::Kernel::darwin) {
        out += text::format("System Integrity Protection: {}\n", tri_word(host.sip, "on", "off"));
    }
    for (const doctor::InstalledShim& shim : facts.shims) {
        out += text::format("shim: {} {}\n", text::escape(in_home(shim.facts.path, facts.home)),
                            shim.facts.sha256.empty() ? "not read" : shim.facts.sha256);
    }
    std::string profiles;
    for (const doctor::FoundProfile& profile : facts.profiles) {
        if (!profile.shipped) {
            profiles += text::concat(profiles.empty() ? "" : ", ", text::escape(profile.name));
        }
    }
    out += text::format("profiles: {}\n",
                        profiles.empty() ? "the shipped ones" : profiles + ", the shipped ones");
    std::string ids;
    for (const doctor::Finding& finding : report.findings) {
        ids += text::concat(ids.empty() ? "" : ", ", finding.id);
    }
    return out + text::format("findings: {}\n", ids.empty() ? "none" : ids);
}

std::string render_doctor(const DoctorReport& report, Colour colour) {
    std::string out;
    for (const DoctorSection& section : doctor_sections(report.facts)) {
        out += render_section(section);
    }
    for (const doctor::Finding& finding : report.findings) {
        out += render(finding, colour) + "\n";
    }
    out += summary(report);
    return out + text::concat("\nfor a bug report:\n\n```\n", bug_report(report), "```\n");
}

std::string render_doctor_json(const DoctorReport& report) {
    const auto line_of = [](const DoctorLine& line) {
        return line.value
                   ? json::string(*line.value)
                   : json::Object().add("unknown", json::string(line.value.error())).render();
    };
    json::Object sections;
    for (const DoctorSection& section : doctor_sections(report.facts)) {
        json::Object lines;
        for (const DoctorLine& line : section.lines) {
            lines.add(line.key, line_of(line));
        }
        sections.add(section.key, lines.render());
    }
    std::vector<std::string> findings;
    findings.reserve(report.findings.size());
    for (const doctor::Finding& finding : report.findings) {
        findings.push_back(json::Object()
                               .add("id", json::string(finding.id))
                               .add("severity", json::string(severity_word(finding.severity)))
                               .add("message", json::string(finding.message))
                               .add("facts", json::strings(finding.facts))
                               .add("help", json::string_or_null(finding.help))
                               .add("command", json::string_or_null(finding.command))
                               .render());
    }
    return json::Object()
               .add("metalrun", json::string(report.version))
               .add("commit", json::string_or_null(report.commit))
               .add("simulated", json::boolean(!report.facts.facts_file.empty()))
               .add("good", json::boolean(!doctor::needs_mending(report.findings)))
               .add("sections", sections.render())
               .add("findings", json::array(findings, ",\n  "))
               .add("bug_report", json::string(bug_report(report)))
               .render() +
           "\n";
}

} // namespace metalrun::report
