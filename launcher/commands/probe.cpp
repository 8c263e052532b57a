// SPDX-License-Identifier: MIT
#include "commands/probe.hpp"

#include "commands/prepare.hpp"
#include "profile/values.hpp"
#include "report/json.hpp"
#include "report/text.hpp"
#include "system/helper.hpp"
#include "target/shim.hpp"

#include <utility>

namespace metalrun::commands {

namespace {

using report::DeviceAnswers;

// Every M-series chip answers yes to this family; a device that does not, under-reports itself.
constexpr std::uint16_t kFamilyOfEveryMac = 1007;

Result<DeviceAnswers> ask(const Session& session, std::vector<std::string> environment) {
    auto result = run_helper(
        {.path = session.probe(), .arguments = {"--json"}, .environment = std::move(environment)});
    if (!result) {
        result.error().help = "install metalrun again: the probe belongs beside it";
        return fail(std::move(result.error()));
    }
    if (result->timed_out || result->status > 1) {
        return fail(
            {.code = Errc::system,
             .message = result->timed_out
                            ? std::string("the probe did not answer in time and was ended")
                            : text::format("the probe ended with status {}", result->status),
             .notes = result->errors.empty()
                          ? std::vector<std::string>{}
                          : std::vector{text::escape(result->errors.substr(0, 400))}});
    }
    return report::parse_device_answers(result->output);
}

std::string family_name(std::uint16_t family) {
    return family == 0
               ? std::string("none")
               : profile::to_string(profile::Family{profile::Family::Kind::ceiling, family});
}

std::string render_answers(std::string_view label, const DeviceAnswers& answers) {
    if (!answers.device) {
        return text::format("{}: no Metal device\n", label);
    }
    return text::format(
        "{}: {}{}, Apple family {} ({}), threadgroup memory {} bytes, working set {} bytes\n",
        label, text::quote(*answers.device),
        answers.simulated ? std::string_view{" (simulated)"} : std::string_view{},
        answers.apple_family, family_name(answers.apple_family), answers.threadgroup_memory,
        answers.working_set);
}

Result<ExitStatus> probe_stock(const Session& session, const cli::Request& request,
                               const DeviceAnswers& stock) {
    const bool capable = stock.device && stock.apple_family >= kFamilyOfEveryMac;
    if (request.json) {
        session.print(text::format("{{\"stock\": {}, \"under_reports\": {}}}\n", stock.raw,
                                   stock.device && !capable ? "true" : "false"));
    } else {
        session.print(render_answers("stock", stock));
        session.print(
            !stock.device ? "this process sees no Metal device\n"
            : capable ? "the device already answers yes to the families that workloads ask for\n"
                      : "the device under-reports itself: every M-series chip has Apple family "
                        "1007; the shim corrects that\n");
    }
    return stock.device && capable ? ExitStatus::success : ExitStatus::negative;
}

struct Expected {
    std::uint16_t family = 0;
    std::uint64_t threadgroup_memory = 0;
    std::uint64_t working_set = 0;
};

Expected expect(const launch::Plan& plan, const DeviceAnswers& stock) {
    return {.family = std::max(stock.apple_family, plan.ceiling),
            .threadgroup_memory = std::max(stock.threadgroup_memory, plan.threadgroup_memory.value),
            .working_set = std::max(stock.working_set, plan.working_set.value)};
}

std::vector<std::string> differences(const Expected& expected, const DeviceAnswers& answers) {
    std::vector<std::string> found;
    const auto compare = [&](std::string_view what, std::uint64_t wanted, std::uint64_t given) {
        if (wanted != given) {
            found.push_back(
                text::format("{}: expected {}, the device answers {}", what, wanted, given));
        }
    };
    compare("Apple family", expected.family, answers.apple_family);
    compare("threadgroup memory", expected.threadgroup_memory, answers.threadgroup_memory);
    compare("working set", expected.working_set, answers.working_set);
    return found;
}

struct Prepared {
    launch::Plan plan;
    std::vector<std::string> stock_environment;
    std::vector<std::string> shim_environment;
};

Result<Prepared> prepare(const Session& session, cli::Request request) {
    profile::TrustedFolders trust(session.system, session.executable_status.owner);
    profile::Catalogue catalogue(
        session.system,
        profile::find_places(session.system, session.environment, session.executable), trust);
    auto named = load_explicit_profile(session, request, catalogue);
    if (!named) {
        return fail(std::move(named.error()));
    }
    const auto chosen = named_or(std::move(*named), "llama.cpp", catalogue);
    if (!chosen) {
        return fail(chosen.error());
    }
    if (auto resolved = resolve_shim_option(session.system, request); !resolved) {
        return fail(std::move(resolved.error()));
    }
    auto plan = make_plan(session, *chosen, request, session.host, std::nullopt);
    if (!plan) {
        return fail(std::move(plan.error()));
    }
    const auto shim =
        target::inspect_shim(session.system, plan->shim.value, target::Digest::not_needed, trust);
    const std::string folder = session.system.working_directory().value_or(std::string{});
    const auto insertion = read_inherited_insertion(session, folder, &shim.status);
    const auto kernel = session.host.kernel;
    Prepared prepared{.plan = std::move(*plan)};
    prepared.stock_environment = launch::compose_environment(session.environment, prepared.plan,
                                                             insertion, kernel, std::nullopt);
    prepared.shim_environment =
        launch::compose_environment(session.environment, prepared.plan, insertion, kernel,
                                    launch::ShimSettings{.library = prepared.plan.shim.value});
    // Whether the probe may take the shim is judged like any target.
    auto chain = target::resolve(session.system, session.probe(), {});
    const judge::Question question{
        .chain = chain, .shim = &shim, .host = session.host, .plan = prepared.plan};
    const judge::Verdict verdict = judge::judge(question);
    for (const judge::Finding& finding : verdict.findings) {
        const bool matters = finding.step == judge::Step::launch ||
                             finding.step == judge::Step::shim ||
                             finding.step == judge::Step::target;
        if (matters && finding.severity == judge::Severity::error) {
            Error error = report::to_error(finding, Errc::shim);
            if (finding.step != judge::Step::shim) {
                error.help = "install metalrun again: the probe belongs beside it";
            }
            return fail(std::move(error));
        }
    }
    return prepared;
}

void report_comparison(const Session& session, const cli::Request& request,
                       const launch::Plan& plan, const DeviceAnswers& stock,
                       const DeviceAnswers& shimmed, const std::vector<std::string>& wrong) {
    if (request.json) {
        session.print(
            text::format("{{\"profile\": {}, \"stock\": {}, \"shim\": {}, \"as_expected\": {}}}\n",
                         text::basic_string(plan.profile), stock.raw, shimmed.raw,
                         wrong.empty() && stock.device ? "true" : "false"));
        return;
    }
    session.print(render_answers("stock", stock));
    session.print(render_answers(text::format("shim ({})", plan.profile), shimmed));
    if (!stock.device) {
        session.print("there is no Metal device to correct\n");
    } else if (wrong.empty()) {
        session.print("the answers are what the profile says\n");
    }
    for (const std::string& line : wrong) {
        session.print(text::format("not as the profile says: {}\n", line));
    }
}

} // namespace

Result<DeviceAnswers> ask_stock_device(const Session& session) {
    const std::string folder = session.system.working_directory().value_or(std::string{});
    return ask(session,
               launch::compose_environment(session.environment, launch::Plan{},
                                           read_inherited_insertion(session, folder, nullptr),
                                           session.host.kernel, std::nullopt));
}

Result<ExitStatus> probe(const Session& session, const cli::Request& request) {
    if (!request.operands.empty()) {
        return fail({.code = Errc::usage,
                     .message = text::format("'probe' takes no operand, {} was given",
                                             text::quote(request.operands.front()))});
    }
    auto prepared = prepare(session, request);
    if (!prepared) {
        return fail(std::move(prepared.error()));
    }
    auto stock = ask(session, prepared->stock_environment);
    if (!stock) {
        return fail(std::move(stock.error()));
    }
    if (request.policy.stock) {
        return probe_stock(session, request, *stock);
    }
    auto shimmed = ask(session, prepared->shim_environment);
    if (!shimmed) {
        return fail(std::move(shimmed.error()));
    }
    const auto wrong = stock->device ? differences(expect(prepared->plan, *stock), *shimmed)
                                     : std::vector<std::string>{};
    report_comparison(session, request, prepared->plan, *stock, *shimmed, wrong);
    return stock->device && wrong.empty() ? ExitStatus::success : ExitStatus::negative;
}

} // namespace metalrun::commands
