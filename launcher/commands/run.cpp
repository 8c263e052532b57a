// SPDX-License-Identifier: MIT
#include "commands/run.hpp"

#include "commands/entry.hpp"
#include "commands/prepare.hpp"
#include "commands/verify.hpp"
#include "launch/receipt.hpp"
#include "report/plan_text.hpp"
#include "report/text.hpp"
#include "target/chain.hpp"
#include "target/shim.hpp"
#include "version.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace metalrun::commands {

namespace {

// One start on its way from the request to exec.
struct Start {
    const Session& session;
    cli::Request request;
    std::vector<FileStatus> skip = {};    ///< files that the search for the target passes over
    std::string working_directory;        ///< before -C; empty if it cannot be told
    std::optional<profile::Chosen> named; ///< not by a [match]
};

Result<void> change_directory(const Start& start) {
    const auto& folder = start.request.chdir;
    if (!folder) {
        return {};
    }
    if (const auto changed = start.session.system.change_directory(*folder); !changed) {
        return fail({.code = Errc::usage,
                     .message = text::format("cannot change to {}: {}", text::quote(*folder),
                                             text::error_text(changed.error()))});
    }
    return {};
}

// A variable as the target will see it, as far as the user himself asked for changes.
std::optional<std::string> variable_of(const Start& start, const std::string& name) {
    const auto& asked = start.request.environment;
    const auto last =
        std::ranges::find(asked.rbegin(), asked.rend(), name, &cli::EnvironmentChange::name);
    if (last != asked.rend()) {
        return last->value;
    }
    if (start.named) {
        const profile::Environment& named = start.named->profile.environment;
        if (const auto set = std::ranges::find(named.set.rbegin(), named.set.rend(), name,
                                               [](const auto& entry) { return entry.first; });
            set != named.set.rend()) {
            return set->second;
        }
        if (std::ranges::find(named.unset, name) != named.unset.end()) {
            return std::nullopt;
        }
    }
    const auto inherited = launch::find_variable(start.session.environment, name);
    return inherited ? std::optional<std::string>(*inherited) : std::nullopt;
}

target::SearchPath search_path(const Start& start) {
    auto path = variable_of(start, "PATH");
    const bool is_default = !path.has_value();
    return {.path = is_default ? start.session.system.default_search_path() : std::move(*path),
            .is_default = is_default,
            .home = variable_of(start, "HOME").value_or(std::string{}),
            .skip = start.skip,
            .kernel = start.session.host.kernel,
            .variable = [&start](const std::string& name) { return variable_of(start, name); }};
}

// What is known of a start when it is judged.
struct Judged {
    target::Chain chain;
    launch::Plan plan;
    std::optional<judge::ShimFacts> shim;
    launch::Insertion insertion;
    judge::Verdict verdict;
    bool children_inherit = false;
};

// binfmt_misc lists its handlers beside two files of its own.
bool has_foreign_handlers(System& system) {
    constexpr std::size_t kOwnFiles = 2;
    return system.list("/proc/sys/fs/binfmt_misc").value_or(std::vector<std::string>{}).size() >
           kOwnFiles;
}

void give_verdict(const Start& start, Judged& judged, profile::TrustedFolders& trust) {
    const Session& session = start.session;
    judge::Question question{.chain = judged.chain, .host = session.host, .plan = judged.plan};
    question.arguments = std::span(start.request.operands).subspan(1);
    if (const auto& argv0 = start.request.argv0) {
        question.argv0 = *argv0;
    }
    const auto& image = judged.chain.image;
    const elf::Facts* elf = image ? image->content.elf() : nullptr;
    question.runs_foreign_programs = elf != nullptr && !judge::fits_host(*elf, session.host) &&
                                     has_foreign_handlers(session.system);
    if (judge::needs_shim(question)) {
        judged.shim = target::inspect_shim(
            session.system, judged.plan.shim.value,
            judged.plan.shim_sha256.empty() ? target::Digest::not_needed : target::Digest::needed,
            trust);
        question.shim = &*judged.shim;
    }
    const FileStatus* own =
        judged.shim && judged.shim->open_error == 0 ? &judged.shim->status : nullptr;
    judged.insertion = read_inherited_insertion(session, start.working_directory, own);
    question.insertion = &judged.insertion;
    judged.verdict = judge::judge(question);
    judged.children_inherit = judge::children_inherit(question);
}

// True if what was judged is still what is there (device, inode, size, modification and change
// time).
bool is_unchanged(System& system, const Judged& judged) {
    for (const target::Link& link : judged.chain.links) {
        if (system.stat(link.path).value_or(FileStatus{}) != link.status) {
            return false;
        }
    }
    return !judged.shim || judged.verdict.decision != judge::Decision::inject ||
           system.stat(judged.shim->path).value_or(FileStatus{}) == judged.shim->status;
}

bool is_nested(const Judged& judged) {
    return judged.verdict.reason == judge::FindingId::nested_start;
}

void report_findings(const Start& start, const Judged& judged) {
    const Session& session = start.session;
    if (start.request.quiet) {
        return;
    }
    const judge::Finding* deciding = judged.verdict.deciding();
    // The inner metalrun tells what becomes of the target.
    const bool hushed = is_nested(judged) && !start.request.verbose;
    if (judged.verdict.decision == judge::Decision::stock && deciding != nullptr && !hushed) {
        const bool instead = deciding->step != judge::Step::stock;
        session.print_error(
            report::render_note((instead ? "runs without the shim: " : "") + deciding->message,
                                judge::to_string(deciding->id), session.colour()));
    }
    for (const judge::Finding& finding : judged.verdict.findings) {
        const bool shown = finding.severity == judge::Severity::warning || start.request.verbose;
        const bool matters = judged.verdict.decision == judge::Decision::inject ||
                             finding.id == judge::FindingId::nested_start;
        if (shown && finding.step == judge::Step::none && matters) {
            session.print_error(report::render(finding, session.colour()));
        }
    }
    const launch::Plan& plan = judged.plan;
    if (plan.above_host && judged.verdict.decision == judge::Decision::inject) {
        session.print_error(
            report::render_note(text::format("the ceiling {} is above the family of this chip, {}",
                                             plan.ceiling, text::quote(session.host.chip)),
                                {}, session.colour()));
    }
}

std::optional<std::string> leave_receipt(const Start& start, const Judged& judged) {
    System& system = start.session.system;
    const auto folder =
        launch::find_state_folder(start.session.environment, system.user_cache_folder());
    if (!folder || !launch::ensure_state_folder(system, *folder)) {
        return std::nullopt;
    }
    const bool injects = judged.verdict.decision == judge::Decision::inject;
    const int process_id = system.process_id();
    return launch::write_receipt(
        system, *folder, process_id,
        launch::render_receipt({.process_id = process_id,
                                .start_time = system.process_start_time().value_or(0),
                                .chain = &judged.chain,
                                .plan = &judged.plan,
                                .verdict = &judged.verdict,
                                .library = injects ? judged.plan.shim.value : std::string{},
                                .version = kVersion}));
}

// The kernel must not choose another slice than the one that was judged.
std::optional<ExecArchitecture> judged_slice(const Judged& judged) {
    const auto& image = judged.chain.image;
    const macho::FileFacts* file = image ? image->content.macho() : nullptr;
    const macho::SliceFacts* slice =
        file != nullptr ? judge::running_slice(*file, judged.plan.arch) : nullptr;
    if (slice == nullptr) {
        return std::nullopt;
    }
    return ExecArchitecture{.cputype = slice->cputype, .cpusubtype = slice->cpusubtype};
}

ExecRequest compose_exec(const Start& start, const Judged& judged,
                         const std::optional<std::string>& receipt) {
    const auto& operands = start.request.operands;
    std::optional<launch::ShimSettings> settings;
    if (judged.verdict.decision == judge::Decision::inject) {
        settings = {.library = judged.plan.shim.value,
                    .receipt = receipt.value_or(std::string{}),
                    .verbose = start.request.verbose,
                    .children_inherit = judged.children_inherit};
    }
    ExecRequest exec{.path = judged.chain.path, .arguments = operands};
    exec.arguments.front() = start.request.argv0.value_or(
        judged.chain.is_bundle() ? judged.chain.path : operands.front());
    if (const auto& resolved = judged.chain.arguments; !resolved.empty()) {
        // The kernel would have lost argv[0] to the interpreter, too.
        exec.arguments = resolved;
        exec.arguments.insert(exec.arguments.end(), operands.begin() + 1, operands.end());
    }
    exec.environment =
        launch::compose_environment(start.session.environment, judged.plan, judged.insertion,
                                    start.session.host.kernel, settings, judged.chain.environment);
    exec.architecture = judged_slice(judged);
    return exec;
}

Error exec_failed(const Judged& judged, const ExecRequest& exec, int number) {
    for (const judge::Finding& finding : judged.verdict.findings) {
        if (number == ENOEXEC && finding.id == judge::FindingId::wrong_architecture) {
            return report::to_error(finding, Errc::refused);
        }
    }
    return {.code = number == ENOENT ? Errc::not_found : Errc::refused,
            .message =
                text::format("cannot run {}: {}", text::quote(exec.path), text::error_text(number)),
            .help =
                number == E2BIG ? "the arguments and the environment together are too long" : ""};
}

Error refusal(const Judged& judged) {
    const judge::Finding& deciding = *judged.verdict.deciding();
    Error error = report::to_error(deciding, judge::errc_of(deciding));
    for (const judge::Finding& finding : judged.verdict.findings) {
        if (&finding != &deciding && finding.severity == judge::Severity::error) {
            error.notes.push_back(
                text::format("also: {} [{}]", finding.message, judge::to_string(finding.id)));
        }
    }
    return error;
}

struct Rooms {
    profile::TrustedFolders& trust;
    profile::Catalogue& catalogue;
};

// The target of a launcher script takes the script's place, in its folder.
Result<void> enter_script(Start& start, LauncherScript script) {
    const bool had_folder = start.request.chdir.has_value();
    start.request = enter(script, std::move(start.request));
    start.skip = {start.session.executable_status, script.script.status};
    start.named = profile_of(std::move(script), std::move(start.named));
    return had_folder ? Result<void>{} : change_directory(start);
}

// A link to metalrun that bears another name is passed over: with the options at hand, its way is
// gone here.
target::Chain resolve_target(Start& start, target::SearchPath& search) {
    System& system = start.session.system;
    std::string& typed = start.request.operands.front();
    target::Chain chain = target::resolve(system, typed, search);
    if (!chain.image || !is_link_to_metalrun(system, chain)) {
        return chain;
    }
    search.skip.push_back(chain.image->status);
    typed = target::base_name(typed);
    return target::resolve(system, typed, search);
}

// The chain to the image; a launcher script on the way is entered once.
Result<target::Chain> find_target(Start& start, profile::Catalogue& catalogue) {
    const Session& session = start.session;
    target::SearchPath search = search_path(start);
    target::Chain chain = resolve_target(start, search);
    std::optional<LauncherScript> script = find_launcher_script(session, chain, search, catalogue);
    if (!script) {
        return chain;
    }
    if (auto entered = enter_script(start, std::move(*script)); !entered) {
        return fail(std::move(entered.error()));
    }
    search = search_path(start); // the script's profile may change PATH
    chain = resolve_target(start, search);
    if (const target::Link* another = find_way_back(session, chain, search)) {
        refuse_script_in_script(chain, *another);
    }
    return chain;
}

// Everything from the name to the verdict.
Result<Judged> prepare(Start& start, const Rooms& rooms) {
    const Session& session = start.session;
    auto chain = find_target(start, rooms.catalogue);
    if (!chain) {
        return fail(std::move(chain.error()));
    }
    Judged judged{.chain = std::move(*chain)};
    auto chosen = choose_profile(start.named, start.request, judged.chain, rooms.catalogue);
    if (!chosen) {
        return fail(std::move(chosen.error()));
    }
    auto plan = make_plan(session, *chosen, start.request, session.host, judged.chain.image);
    if (!plan) {
        return fail(std::move(plan.error()));
    }
    judged.plan = std::move(*plan);
    if (judged.plan.verify && judged.chain.image) {
        verify_image(session.system, *judged.chain.image, judged.plan.arch, Slices::running,
                     Hashing::in_this_thread);
    }
    give_verdict(start, judged, rooms.trust);
    if (is_nested(judged)) {
        std::erase_if(judged.plan.environment, [](const launch::Change& change) {
            return change.origin != launch::kCommandLine;
        });
    }
    return judged;
}

Result<ExitStatus> print_plan(const Start& start, const Judged& judged) {
    start.session.print(report::render_plan(judged.plan, judged.verdict, judged.chain,
                                            compose_exec(start, judged, std::nullopt)));
    if (judged.verdict.decision == judge::Decision::refuse) {
        return fail(refusal(judged));
    }
    return ExitStatus::success;
}

// Becomes the target, or says why not. Nothing at all: what was judged changed meanwhile.
std::optional<Error> become_target(const Start& start, const Judged& judged) {
    System& system = start.session.system;
    // The inner one leaves the receipt of this process.
    const auto receipt = is_nested(judged) ? std::nullopt : leave_receipt(start, judged);
    const ExecRequest exec = compose_exec(start, judged, receipt);
    if (start.request.verbose && !start.request.quiet) {
        start.session.print_error(report::render_start(judged.plan, judged.verdict, exec));
    }
    report_findings(start, judged);
    std::optional<Error> failure;
    if (is_unchanged(system, judged)) {
        const int number = system.exec(exec);
        failure = exec_failed(judged, exec, number);
    }
    if (receipt) {
        // The process it names never came to be; if it stays, `status` clears it.
        [[maybe_unused]] const auto removed = system.remove_file(*receipt);
    }
    return failure;
}

// A file that changes under us is judged once more; twice is no accident.
Result<ExitStatus> start_target(Start& start, const Rooms& rooms) {
    constexpr int kAttempts = 2;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        auto judged = prepare(start, rooms);
        if (!judged) {
            return fail(std::move(judged.error()));
        }
        if (start.request.dry_run) {
            return print_plan(start, *judged);
        }
        if (judged->verdict.decision == judge::Decision::refuse) {
            return fail(refusal(*judged));
        }
        if (auto failure = become_target(start, *judged)) {
            return fail(std::move(*failure));
        }
    }
    return fail(
        {.code = Errc::refused,
         .message = text::format("{} or the shim changed twice while it was judged; nothing "
                                 "was started",
                                 text::quote(start.request.operands.front())),
         .help = "start it again when its file is no longer being replaced"});
}

} // namespace

Result<ExitStatus> run(const Session& session, const cli::Request& asked) {
    Start start{.session = session, .request = asked};
    if (asked.masquerades) {
        start.skip = {session.executable_status};
    }
    if (launch::find_variable(session.environment,
                              launch::insertion_variable(session.host.kernel))) {
        // What was inherited is relative to the folder before -C.
        start.working_directory = session.system.working_directory().value_or(std::string{});
    }
    profile::TrustedFolders trust(session.system, session.executable_status.owner);
    profile::Catalogue catalogue(
        session.system,
        profile::find_places(session.system, session.environment, session.executable), trust);
    auto named = load_explicit_profile(session, asked, catalogue);
    if (!named) {
        return fail(std::move(named.error()));
    }
    start.named = std::move(*named);
    if (auto resolved = resolve_shim_option(session.system, start.request); !resolved) {
        return fail(std::move(resolved.error()));
    }
    if (auto changed = change_directory(start); !changed) {
        return fail(std::move(changed.error()));
    }
    return start_target(start, {.trust = trust, .catalogue = catalogue});
}

} // namespace metalrun::commands
