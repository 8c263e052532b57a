// SPDX-License-Identifier: MIT
#include "commands/check.hpp"

#include "commands/check_facts.hpp"
#include "commands/check_paths.hpp"
#include "commands/check_target.hpp"
#include "commands/prepare.hpp"
#include "commands/progress.hpp"
#include "report/check_report.hpp"
#include "version.hpp"

#include <utility>

namespace metalrun::commands {

namespace {

ExitStatus status_of(const report::CheckReport& report) {
    const bool is_whole = !report.walk || report.walk->unread.empty();
    ExitStatus status = is_whole ? ExitStatus::success : ExitStatus::uncertain;
    for (const report::CheckedTarget& target : report.targets) {
        if (target.verdict.decision != judge::Decision::inject) {
            return ExitStatus::negative;
        }
        if (target.verdict.outcome == judge::Outcome::uncertain) {
            status = ExitStatus::uncertain;
        }
    }
    return status;
}

Result<report::CheckReport> check_all(const Session& session, const cli::Request& request,
                                      Checker& checker) {
    ProgressLine line(session, request.quiet ? Hush::yes : Hush::no);
    CheckedPaths found =
        find_paths(session, request.operands, request.recursive ? Recursion::on : Recursion::off,
                   [&](std::uint64_t count) { line.show("files looked at", count); });
    report::CheckReport report{
        .host = checker.macos(), .version = kVersion, .walk = std::move(found.walk)};
    for (const std::string& path : found.paths) {
        line.show("programs judged", report.targets.size());
        auto target = checker.check(path);
        if (!target) {
            return fail(std::move(target.error()));
        }
        report.targets.push_back(std::move(*target));
    }
    report.assumptions = checker.assumptions();
    return report;
}

} // namespace

Result<ExitStatus> check(const Session& session, const cli::Request& request) {
    if (request.operands.empty()) {
        return fail({.code = Errc::usage, .message = "'check' needs at least one PATH"});
    }
    auto facts = facts_for_check(session, request);
    if (!facts) {
        return fail(std::move(facts.error()));
    }
    cli::Request asked = request;
    if (auto resolved = resolve_shim_option(session.system, asked); !resolved) {
        return fail(std::move(resolved.error()));
    }
    profile::TrustedFolders trust(session.system, session.executable_status.owner);
    profile::Catalogue catalogue(
        session.system,
        profile::find_places(session.system, session.environment, session.executable), trust);
    auto named = load_explicit_profile(session, asked, catalogue);
    if (!named) {
        return fail(std::move(named.error()));
    }
    Checker checker(session, asked, std::move(*facts), trust, catalogue, std::move(*named));
    const auto report = check_all(session, asked, checker);
    if (!report) {
        return fail(report.error());
    }
    session.print(asked.json ? report::render_check_json(*report)
                             : report::render_check(*report, session.output_style()));
    return status_of(*report);
}

} // namespace metalrun::commands
