// SPDX-License-Identifier: MIT
#include "commands/profile.hpp"

#include "commands/check_facts.hpp"
#include "commands/prepare.hpp"
#include "profile/lint.hpp"
#include "profile/values.hpp"
#include "report/plan_text.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <utility>

namespace metalrun::commands {

namespace {

using profile::Catalogue;

std::string first_line(const Error& error) {
    return error.message.substr(0, error.message.find('\n'));
}

std::string list_line(const Catalogue::Entry& entry) {
    std::string name = text::escape(entry.name);
    name.resize(std::max<std::size_t>(name.size(), 21), ' ');
    if (!entry.profile) {
        return text::format("{} broken       {}\n", name, first_line(entry.profile.error()));
    }
    const auto status = entry.profile->workload.status.value_or(profile::WorkloadStatus::untested);
    std::string word(profile::to_string(status));
    word.resize(std::max<std::size_t>(word.size(), 12), ' ');
    return text::format("{} {} {}  ({})\n", name, word, text::escape(entry.profile->description),
                        text::escape(entry.origin));
}

std::string list_json(const std::vector<Catalogue::Entry>& entries) {
    std::string out;
    for (const Catalogue::Entry& entry : entries) {
        out += text::format("{}{{\"name\": {}, \"origin\": {}, ", out.empty() ? "" : ", ",
                            text::basic_string(entry.name), text::basic_string(entry.origin));
        if (entry.profile) {
            const auto status =
                entry.profile->workload.status.value_or(profile::WorkloadStatus::untested);
            out += text::format("\"status\": {}, \"description\": {}}}",
                                text::basic_string(profile::to_string(status)),
                                text::basic_string(entry.profile->description));
        } else {
            out +=
                text::format("\"error\": {}}}", text::basic_string(entry.profile.error().message));
        }
    }
    return text::format("{{\"profiles\": [{}]}}\n", out);
}

Result<ExitStatus> list(const Session& session, const cli::Request& request, Catalogue& catalogue) {
    const auto entries = catalogue.list();
    if (request.json) {
        session.print(list_json(entries));
    }
    bool broken = false;
    for (const Catalogue::Entry& entry : entries) {
        broken = broken || !entry.profile;
        if (!request.json) {
            session.print(list_line(entry));
        }
    }
    return broken ? ExitStatus::negative : ExitStatus::success;
}

Result<ExitStatus> show(const Session& session, const cli::Request& request, Catalogue& catalogue) {
    if (request.operands.size() > 2) {
        return fail({.code = Errc::usage, .message = "'profile show' takes one profile"});
    }
    cli::Request asked = request;
    if (request.operands.size() == 2) {
        asked.policy.profile = request.operands[1];
    }
    auto named = load_explicit_profile(session, asked, catalogue);
    if (!named) {
        return fail(std::move(named.error()));
    }
    const auto chosen = named_or(std::move(*named), "default", catalogue);
    if (!chosen) {
        return fail(chosen.error());
    }
    const auto host =
        request.host_facts ? facts_for_check(session, request) : Result<HostFacts>(session.host);
    if (!host) {
        return fail(host.error());
    }
    const auto plan = make_plan(session, *chosen, asked, *host, std::nullopt);
    if (!plan) {
        return fail(plan.error());
    }
    session.print(request.json ? report::render_values_json(*plan) : report::render_values(*plan));
    return ExitStatus::success;
}

std::string lint_json(const std::string& file, const Result<std::vector<profile::Flaw>>& flaws) {
    if (!flaws) {
        return text::format("{{\"path\": {}, \"error\": {}, \"findings\": []}}",
                            text::basic_string(file), text::basic_string(flaws.error().message));
    }
    std::string out;
    for (const profile::Flaw& flaw : *flaws) {
        out += text::format(
            "{}{{\"id\": {}, \"severity\": {}, \"line\": {}, \"column\": {}, \"message\": {}, "
            "\"help\": {}}}",
            out.empty() ? "" : ", ", text::basic_string(flaw.id),
            text::basic_string(flaw.severity == judge::Severity::error ? "error" : "warning"),
            flaw.at.line, flaw.at.column, text::basic_string(flaw.message),
            text::basic_string(flaw.help));
    }
    return text::format("{{\"path\": {}, \"error\": null, \"findings\": [{}]}}",
                        text::basic_string(file), out);
}

std::string lint_text(const Session& session, const std::string& file,
                      const std::vector<profile::Flaw>& flaws) {
    std::string out = flaws.empty() ? text::format("{}: ok\n", text::escape(file)) : std::string{};
    for (const profile::Flaw& flaw : flaws) {
        out += report::render(flaw, file, session.output_style().colour);
    }
    return out;
}

// What is found is the command's result, so it goes to standard output; what cannot be read is a
// failure of the command.
Result<ExitStatus> lint(const Session& session, const cli::Request& request,
                        profile::TrustedFolders& trust) {
    if (request.operands.size() < 2) {
        return fail({.code = Errc::usage, .message = "'profile lint' needs at least one FILE"});
    }
    ExitStatus status = ExitStatus::success;
    std::string json;
    for (auto file = request.operands.begin() + 1; file != request.operands.end(); ++file) {
        const auto flaws = profile::lint(session.system, *file, trust);
        if (request.json) {
            json += text::concat(json.empty() ? "" : ", ", lint_json(*file, flaws));
        }
        if (!flaws) {
            session.print_error(report::render(flaws.error(), session.colour()));
            status = ExitStatus::own_failure;
            continue;
        }
        if (!request.json) {
            session.print(lint_text(session, *file, *flaws));
        }
        if (!flaws->empty() && status == ExitStatus::success) {
            status = ExitStatus::negative;
        }
    }
    if (request.json) {
        session.print(text::format("{{\"files\": [{}]}}\n", json));
    }
    return status;
}

} // namespace

Result<ExitStatus> profile_command(const Session& session, const cli::Request& request) {
    profile::TrustedFolders trust(session.system, session.executable_status.owner);
    Catalogue catalogue(
        session.system,
        profile::find_places(session.system, session.environment, session.executable), trust);
    const std::string verb = request.operands.empty() ? std::string{} : request.operands.front();
    if (verb == "list" && request.operands.size() == 1) {
        return list(session, request, catalogue);
    }
    if (verb == "show") {
        return show(session, request, catalogue);
    }
    if (verb == "lint") {
        return lint(session, request, trust);
    }
    return fail({.code = Errc::usage,
                 .message = verb.empty()
                                ? std::string("'profile' needs one of: list, show, lint")
                                : text::format("'profile' knows list, show and lint, not {}",
                                               text::quote(verb)),
                 .help = "'metalrun profile --help' explains them"});
}

} // namespace metalrun::commands
