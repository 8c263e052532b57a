// SPDX-License-Identifier: MIT
#include "commands/prepare.hpp"

#include <utility>

namespace metalrun::commands {

Result<profile::Chosen> choose_profile(const std::optional<profile::Chosen>& named,
                                       const cli::Request& request, const target::Chain& chain,
                                       profile::Catalogue& catalogue) {
    if (named) {
        return *named;
    }
    const auto& operands = request.operands;
    profile::Subject subject{.program_names = chain.names,
                             .arguments = {operands.begin() + 1, operands.end()}};
    if (chain.image) {
        subject.libraries = target::needed_libraries(chain.image->content);
    }
    auto match = catalogue.find_match(subject);
    if (!match) {
        return fail(std::move(match.error()));
    }
    return named_or(std::move(*match), "default", catalogue);
}

Result<profile::Chosen> named_or(std::optional<profile::Chosen> named, const std::string& name,
                                 profile::Catalogue& catalogue) {
    if (named) {
        return std::move(*named);
    }
    Result<profile::Profile> fallback = catalogue.load(name);
    if (!fallback) {
        return fail(std::move(fallback.error()));
    }
    return profile::Chosen{.profile = std::move(*fallback), .choice = {}};
}

Result<void> resolve_shim_option(System& system, cli::Request& request) {
    if (!request.policy.shim) {
        return {};
    }
    if (request.policy.shim->empty()) {
        return fail({.code = Errc::usage, .message = "option '--shim': the path is empty"});
    }
    auto absolute = make_absolute(system, *request.policy.shim);
    if (!absolute) {
        return fail(std::move(absolute.error()));
    }
    request.policy.shim = std::move(*absolute);
    return {};
}

namespace {

// The thin library has an arm64 slice alone.
bool runs_another_slice(const target::Image& image, const launch::Plan& plan) {
    const macho::FileFacts* file = image.content.macho();
    const macho::SliceFacts* slice =
        file != nullptr ? judge::running_slice(*file, plan.arch) : nullptr;
    return slice != nullptr && (slice->name == "arm64e" || slice->name == "x86_64");
}

// Only Apple's tools make the universal library whole, so an installation may be without it. What
// merely prefers it then takes the thin one, and its children run stock.
std::string choose_library(const Session& session, HostFacts::Kernel kernel,
                           const launch::Plan& plan, bool needs_universal) {
    const std::string thin = session.installed_shim(kernel, Library::thin);
    std::string universal = session.installed_shim(kernel, Library::universal);
    if (thin == universal || needs_universal) {
        return universal;
    }
    const bool prefers_universal = plan.children.value == profile::Children::inherit_if_safe;
    const bool is_missing = prefers_universal && !session.system.stat(universal).has_value() &&
                            session.system.stat(thin).has_value();
    return prefers_universal && !is_missing ? universal : thin;
}

} // namespace

Result<launch::Plan> make_plan(const Session& session, const profile::Chosen& chosen,
                               const cli::Request& request, const HostFacts& host,
                               const std::optional<target::Image>& image) {
    auto plan = launch::make_plan(chosen.profile, request, host,
                                  session.installed_shim(host.kernel, Library::thin));
    if (plan) {
        plan->choice = chosen.choice;
    }
    if (plan && plan->shim.origin == launch::kBuiltInDefault) {
        const bool needs_universal = plan->children.value == profile::Children::inherit ||
                                     (image && runs_another_slice(*image, *plan));
        plan->shim.value = choose_library(session, host.kernel, *plan, needs_universal);
    }
    return plan;
}

} // namespace metalrun::commands
