// SPDX-License-Identifier: MIT
#include "report/diagnostic.hpp"

#include "judge/doctor_rules.hpp"
#include "judge/verdict.hpp"
#include "report/text.hpp"

#include <utility>
#include <vector>

namespace metalrun::report {

namespace {

struct Parts {
    judge::Severity severity = judge::Severity::error;
    std::string_view message;
    std::string_view id;
    const std::vector<std::string>* notes = nullptr;
    std::string_view help;
};

std::string severity_word(judge::Severity severity, Colour colour) {
    struct Style {
        std::string_view word;
        std::string_view code;
    };
    const Style style = severity == judge::Severity::error     ? Style{"error:", "\033[1;31m"}
                        : severity == judge::Severity::warning ? Style{"warning:", "\033[1;33m"}
                                                               : Style{"note:", "\033[1m"};
    if (colour == Colour::off) {
        return std::string(style.word);
    }
    return text::format("{}{}\033[0m", style.code, style.word);
}

std::string render_parts(const Parts& parts, Colour colour) {
    std::string out =
        text::format("metalrun: {} {}", severity_word(parts.severity, colour), parts.message);
    if (!parts.id.empty()) {
        out += text::format(" [{}]", parts.id);
    }
    out += '\n';
    if (parts.notes != nullptr) {
        for (const std::string& note : *parts.notes) {
            out += text::format("note: {}\n", note);
        }
    }
    if (!parts.help.empty()) {
        out += text::format("help: {}\n", parts.help);
    }
    return out;
}

} // namespace

std::string render(const Error& error, Colour colour) {
    return render_parts({.severity = judge::Severity::error,
                         .message = error.message,
                         .id = error.finding,
                         .notes = &error.notes,
                         .help = error.help},
                        colour);
}

std::string render(const judge::Finding& finding, Colour colour) {
    return render_parts({.severity = finding.severity,
                         .message = finding.message,
                         .id = judge::to_string(finding.id),
                         .notes = &finding.facts,
                         .help = finding.help},
                        colour);
}

std::string render(const profile::Flaw& flaw, const std::string& path, Colour colour) {
    return render_parts({.severity = flaw.severity,
                         .message = profile::with_place(flaw, path),
                         .id = flaw.id,
                         .notes = nullptr,
                         .help = flaw.help},
                        colour);
}

std::string render(const doctor::Finding& finding, Colour colour) {
    const std::string out = render_parts({.severity = finding.severity,
                                          .message = finding.message,
                                          .id = finding.id,
                                          .notes = &finding.facts,
                                          .help = finding.help},
                                         colour);
    return finding.command.empty() ? out : text::concat(out, "  ", finding.command, "\n");
}

std::string render_note(std::string_view message, std::string_view finding_id, Colour colour) {
    return render_parts({.severity = judge::Severity::note,
                         .message = message,
                         .id = finding_id,
                         .notes = nullptr,
                         .help = {}},
                        colour);
}

Error to_error(const judge::Finding& finding, Errc code) {
    return {.code = code,
            .message = finding.message,
            .notes = finding.facts,
            .help = finding.help,
            .finding = std::string(judge::to_string(finding.id))};
}

} // namespace metalrun::report
