// SPDX-License-Identifier: MIT
#include "commands/doctor.hpp"

#include "commands/check_facts.hpp"
#include "commands/doctor_facts.hpp"
#include "commands/probe.hpp"
#include "report/doctor_report.hpp"
#include "report/text.hpp"
#include "version.hpp"

#include <cerrno>
#include <utility>

namespace metalrun::commands {

namespace {

doctor::Known<report::DeviceAnswers> look_at_device(const Session& session,
                                                    const doctor::Facts& facts) {
    if (facts.probe_error != 0 || !facts.probe_runs) {
        return std::unexpected(std::string("the probe cannot be started"));
    }
    auto answers = ask_stock_device(session);
    if (!answers) {
        return std::unexpected(std::move(answers.error().message));
    }
    return std::move(*answers);
}

doctor::Known<bool> look_at_port(const Session& session) {
    const auto listens = session.system.is_listening(doctor::kOllamaPort);
    if (!listens) {
        return std::unexpected(text::error_text(listens.error()));
    }
    return *listens;
}

} // namespace

doctor::Facts gather_doctor_facts(const Session& session, const std::string& facts_file) {
    doctor::Facts facts{.host = session.host, .facts_file = facts_file};
    const auto home = launch::find_variable(session.environment, "HOME");
    if (home && home->starts_with('/')) {
        facts.home = *home;
    }
    look_at_installation(session, facts);
    look_at_session(session, facts);
    if (facts_file.empty()) {
        facts.device = look_at_device(session, facts);
        facts.ollama_listens = look_at_port(session);
    } else {
        const std::string why = "the facts are those of another machine";
        facts.device = std::unexpected(session.host.metal_device.empty()
                                           ? why
                                           : text::format("{}, whose device is called {}", why,
                                                          text::quote(session.host.metal_device)));
        facts.ollama_listens = std::unexpected(why);
    }
    return facts;
}

Result<ExitStatus> doctor(const Session& session, const cli::Request& request) {
    if (!request.operands.empty()) {
        return fail({.code = Errc::usage,
                     .message = text::format("'doctor' takes no operand, {} was given",
                                             text::quote(request.operands.front()))});
    }
    Session seen = session;
    if (request.host_facts) {
        auto host = facts_for_check(session, request);
        if (!host) {
            return fail(std::move(host.error()));
        }
        seen.host = std::move(*host);
    }
    report::DoctorReport report{
        .version = kVersion,
        .commit = kCommit,
        .facts = gather_doctor_facts(seen, request.host_facts.value_or(std::string{}))};
    report.findings = doctor::diagnose(report.facts);
    session.print(request.json ? report::render_doctor_json(report)
                               : report::render_doctor(report, session.output_style().colour));
    return doctor::needs_mending(report.findings) ? ExitStatus::negative : ExitStatus::success;
}

} // namespace metalrun::commands
