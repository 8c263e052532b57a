// SPDX-License-Identifier: MIT
//
// metalrun: the named steps from argv to the command, and the one place where a failure becomes an
// exit status.
#include "cli/command_line.hpp"
#include "commands/check.hpp"
#include "commands/doctor.hpp"
#include "commands/entry.hpp"
#include "commands/probe.hpp"
#include "commands/profile.hpp"
#include "commands/run.hpp"
#include "commands/session.hpp"
#include "commands/status.hpp"
#include "report/text.hpp"
#include "system/privilege.hpp"
#include "version.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace metalrun;

std::vector<std::string> copy_strings(char** pointers) {
    std::vector<std::string> strings;
    for (char** at = pointers; at != nullptr && *at != nullptr;
         ++at) { // NOLINT(*-pointer-arithmetic): argv and envp end with a null pointer
        strings.emplace_back(*at);
    }
    return strings;
}

bool is_reserved(cli::Command command) {
    return command == cli::Command::agent || command == cli::Command::host ||
           command == cli::Command::bench;
}

Error reserved(cli::Command command) {
    return {.code = Errc::usage,
            .message = text::format("the command '{}' is reserved; this version does not have it",
                                    cli::to_string(command)),
            .help = text::format("to start a program of that name: metalrun -- {}",
                                 cli::to_string(command))};
}

Result<ExitStatus> dispatch(const commands::Session& session, const cli::Request& request) {
    switch (request.command) {
    case cli::Command::run:
        return commands::run(session, request);
    case cli::Command::probe:
        return commands::probe(session, request);
    case cli::Command::profile:
        return commands::profile_command(session, request);
    case cli::Command::help:
        if (is_reserved(request.help_about)) {
            return fail(reserved(request.help_about));
        }
        session.print(cli::render_help(request.help_about));
        return ExitStatus::success;
    case cli::Command::version:
        session.print(*kCommit == '\0' ? text::format("metalrun {}\n", kVersion)
                                       : text::format("metalrun {} ({})\n", kVersion, kCommit));
        return ExitStatus::success;
    case cli::Command::check:
        return commands::check(session, request);
    case cli::Command::doctor:
        return commands::doctor(session, request);
    case cli::Command::status:
        return commands::status(session, request);
    case cli::Command::agent:
    case cli::Command::host:
    case cli::Command::bench:
        break;
    }
    return fail(reserved(request.command));
}

Result<ExitStatus> run_metalrun(const commands::Session& session, std::vector<std::string> argv) {
    if (const auto request = commands::masquerade(session, argv)) {
        return dispatch(session, *request);
    }
    argv = commands::split_interpreter_arguments(session, std::move(argv));
    const std::vector<std::string> arguments(argv.empty() ? argv.begin() : argv.begin() + 1,
                                             argv.end());
    if (arguments.empty()) {
        session.print_error(cli::render_usage());
        return ExitStatus::own_failure;
    }
    auto request = cli::parse(arguments);
    if (!request) {
        return fail(std::move(request.error()));
    }
    return dispatch(session, *request);
}

ExitStatus finish(const commands::Session& session, Result<ExitStatus> ended) {
    if (ended && session.output_failed) {
        ended = fail({.code = Errc::system, .message = "cannot write to standard output"});
    }
    if (ended) {
        return *ended;
    }
    session.print_error(report::render(ended.error(), session.colour()));
    return exit_status_of(ended.error().code);
}

int guarded_main(System& system, char** argv, char** envp) {
    auto session = commands::open_session(system, copy_strings(envp));
    if (!session) {
        system.write(2, report::render(session.error(), report::Colour::off));
        return static_cast<int>(exit_status_of(session.error().code));
    }
    return static_cast<int>(finish(*session, run_metalrun(*session, copy_strings(argv))));
}

} // namespace

int main(int /*argc*/, char** argv, char** envp) {
    constexpr int kOwnFailure = static_cast<int>(ExitStatus::own_failure);
    const auto system = make_system();
    // Before anything is read: with borrowed rights, no profile, path or variable may be believed.
    if (has_borrowed_rights()) {
        system->write(2, "metalrun: error: started with set-id rights, which it never uses\n"
                         "help: remove the set-id bit from metalrun: chmod ug-s\n");
        return kOwnFailure;
    }
    try {
        return guarded_main(*system, argv, envp);
    } catch (const std::exception& error) {
        system->write(2, std::string("metalrun: error: internal error: ") + error.what() + "\n");
    } catch (...) {
        system->write(2, "metalrun: error: internal error\n");
    }
    return kOwnFailure;
}
