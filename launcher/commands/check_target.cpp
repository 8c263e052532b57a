// SPDX-License-Identifier: MIT
#include "commands/check_target.hpp"

#include "commands/entry.hpp"
#include "commands/prepare.hpp"
#include "commands/verify.hpp"
#include "macho/format.hpp"
#include "target/shim.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace metalrun::commands {

namespace {

// The shim that the macOS package installs, where none is at hand: ad hoc signed, thin arm64.
judge::ShimFacts standard_shim(bool universal) {
    judge::ShimFacts shim{.path = universal ? "libmetalrun_shim_universal.dylib"
                                            : "libmetalrun_shim.dylib"};
    shim.status.kind = FileKind::regular;
    macho::FileFacts file{.container =
                              universal ? macho::Container::universal : macho::Container::thin};
    for (const auto& [cputype, cpusubtype] :
         {std::pair(macho::kCpuTypeArm64, macho::kCpuSubtypeArm64All),
          std::pair(macho::kCpuTypeArm64,
                    macho::kCpuSubtypeArm64e | macho::kCpuSubtypeArm64eVersioned),
          std::pair(macho::kCpuTypeX86x64, macho::kCpuSubtypeX86All)}) {
        if (!universal && !file.slices.empty()) {
            break;
        }
        macho::Image image;
        image.filetype = 6;
        image.filetype_name = "library";
        image.marker = "shim";
        image.versions.push_back(
            {.platform = 1, .platform_name = "macOS", .minos = "13.0", .sdk = "13.0"});
        macho::CodeSignature signature;
        signature.directories.emplace_back();
        file.slices.push_back({.cputype = cputype,
                               .cpusubtype = cpusubtype,
                               .name = macho::architecture_name(cputype, cpusubtype),
                               .image = std::move(image),
                               .signature = std::move(signature)});
    }
    shim.content.parsed = target::MachoResult(std::move(file));
    return shim;
}

// Interpreters are followed as a start on the judged machine would; a Mac's cannot be looked at
// from elsewhere.
target::SearchPath search_path(const Session& session, const cli::Request& request) {
    const bool elsewhere =
        request.host_facts.has_value() && session.host.kernel != HostFacts::Kernel::darwin;
    const auto path = launch::find_variable(session.environment, "PATH");
    return {.path = path ? std::string(*path) : session.system.default_search_path(),
            .is_default = !path.has_value(),
            .home = {},
            .kernel = elsewhere ? HostFacts::Kernel::darwin : session.host.kernel,
            .elsewhere = elsewhere};
}

const macho::SliceFacts* running_slice_of(const target::Image& image, const launch::Plan& plan) {
    const macho::FileFacts* file = image.content.macho();
    return file != nullptr ? judge::running_slice(*file, plan.arch) : nullptr;
}

} // namespace

Checker::Checker(const Session& session, const cli::Request& request, HostFacts macos,
                 profile::TrustedFolders& trust, profile::Catalogue& catalogue,
                 std::optional<profile::Chosen> named)
    : session_(session), request_(request), macos_(std::move(macos)), trust_(trust),
      catalogue_(catalogue), named_(std::move(named)), search_(search_path(session, request)) {
    if (macos_.source == HostFacts::Source::assumed) {
        assume("a macOS 26.5 guest on Apple silicon with System Integrity Protection on");
    }
}

void Checker::assume(std::string sentence) {
    if (std::ranges::find(assumptions_, sentence) == assumptions_.end()) {
        assumptions_.push_back(std::move(sentence));
    }
}

judge::ShimFacts Checker::look_at_shim(const launch::Plan& plan, bool is_elf) {
    System& system = session_.system;
    const bool named = plan.shim.origin != launch::kBuiltInDefault;
    if (named || is_elf || system.stat(plan.shim.value)) {
        return target::inspect_shim(
            system, plan.shim.value,
            plan.shim_sha256.empty() ? target::Digest::not_needed : target::Digest::needed, trust_);
    }
    const bool universal =
        plan.shim.value == session_.installed_shim(HostFacts::Kernel::darwin, Library::universal);
    assume(universal ? "the standard library, ad hoc signed: arm64, arm64e and x86_64"
                     : "the standard library, ad hoc signed: arm64");
    return standard_shim(universal);
}

const judge::ShimFacts& Checker::shim_for(const launch::Plan& plan, bool is_elf) {
    const auto key = std::pair(plan.shim.value, !plan.shim_sha256.empty());
    const auto known = shims_.find(key);
    return known != shims_.end() ? known->second
                                 : shims_.emplace(key, look_at_shim(plan, is_elf)).first->second;
}

std::string Checker::read_all(target::Image& image, const launch::Plan& plan) {
    verify_image(session_.system, image, plan.arch,
                 request_.policy.verify ? Slices::all : Slices::running, Hashing::by_workers);
    const macho::SliceFacts* running = running_slice_of(image, plan);
    const bool runs = running != nullptr && running->image && running->image->is_executable();
    return runs ? running->name : std::string{};
}

// A program of another machine that is named without a slash is in a PATH that is not known here.
target::Chain Checker::follow(const std::string& program, const target::SearchPath& search) {
    if (program.find('/') != std::string::npos) {
        return target::inspect(session_.system, program, search);
    }
    if (!search.elsewhere) {
        return target::resolve(session_.system, program, search);
    }
    target::Chain chain{.typed = program, .path = program, .names = {program}};
    chain.links.push_back({.path = program, .status = {}});
    chain.image = target::Image{.path = program, .status = {}, .content = {}, .elsewhere = true};
    return chain;
}

Checker::Subject Checker::find_subject(const std::string& path) {
    Subject subject{.chain = target::inspect(session_.system, path, search_),
                    .request = request_,
                    .named = named_};
    subject.request.operands = {path};
    std::optional<LauncherScript> script =
        find_launcher_script(session_, subject.chain, search_, catalogue_);
    if (!script) {
        return subject;
    }
    subject.request = enter(*script, std::move(subject.request));
    target::SearchPath search = search_;
    search.skip = {session_.executable_status, script->script.status};
    target::Chain chain = follow(subject.request.operands.front(), search);
    if (const target::Link* another = find_way_back(session_, chain, search)) {
        refuse_script_in_script(chain, *another);
    }
    chain.typed = path;
    chain.links.insert(chain.links.begin(), script->script);
    subject.chain = std::move(chain);
    subject.named = profile_of(std::move(*script), std::move(subject.named));
    return subject;
}

Result<report::CheckedTarget> Checker::check(const std::string& path) {
    auto [chain, request, named] = find_subject(path);
    report::CheckedTarget target{.chain = std::move(chain)};
    std::optional<target::Image>& image = target.chain.image;
    const bool is_elf = image && image->content.is_elf();
    const HostFacts& host = is_elf ? session_.host : macos_;
    request.policy.anywhere = request.policy.anywhere || is_elf;
    const auto chosen = choose_profile(named, request, target.chain, catalogue_);
    if (!chosen) {
        return fail(chosen.error());
    }
    const auto plan = make_plan(session_, *chosen, request, host, image);
    if (!plan) {
        return fail(plan.error());
    }
    if (is_elf && target.chain.links.front().kind == target::LinkKind::script) {
        assume("scripts are started on this machine; '--host-facts' asks for a macOS guest");
    }
    if (image && image->content.is_macho()) {
        target.running_slice = read_all(*image, *plan);
    }
    judge::Question question{.chain = target.chain, .host = host, .plan = *plan};
    if (request.operands.front() != path) { // a launcher script's; of others none are known
        question.arguments = std::span(request.operands).subspan(1);
    }
    if (const auto& argv0 = request.argv0) {
        question.argv0 = *argv0;
    }
    if (judge::needs_shim(question)) {
        question.shim = &shim_for(*plan, is_elf);
        target.library = question.shim->path;
    }
    target.verdict = judge::judge(question);
    target.children = judge::children_inherit(question) ? "inherit" : "stock";
    target.profile = plan->profile;
    target.choice = plan->choice;
    return target;
}

} // namespace metalrun::commands
