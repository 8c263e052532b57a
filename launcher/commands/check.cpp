// SPDX-License-Identifier: MIT
#include "commands/check.hpp"

#include "commands/prepare.hpp"
#include "macho/format.hpp"
#include "profile/host_facts.hpp"
#include "report/check_report.hpp"
#include "report/text.hpp"
#include "target/shim.hpp"
#include "version.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace metalrun::commands {

namespace {

constexpr std::uint64_t kLargestFactsFile = 1U << 16U;

// The newest guest that the rules are known for, when nothing else is.
HostFacts assumed_guest() {
    return {.source = HostFacts::Source::assumed,
            .kernel = HostFacts::Kernel::darwin,
            .os = "26.5",
            .build = {},
            .architecture = "arm64",
            .chip = {},
            .guest = Tri::yes,
            .sip = Tri::yes};
}

Result<HostFacts> read_host_facts(System& system, const std::string& path) {
    const auto cannot = [&](int number) {
        return fail(
            {.code = Errc::usage,
             .message = text::format("cannot read the host facts {}: {}", text::quote(path),
                                     std::strerror(number))}); // NOLINT(concurrency-mt-unsafe)
    };
    const auto file = system.open(path);
    if (!file) {
        return cannot(file.error());
    }
    const FileStatus& status = (*file)->status();
    if (status.kind != FileKind::regular || status.size_bytes > kLargestFactsFile) {
        return fail(
            {.code = Errc::usage,
             .message = text::format("cannot read the host facts {}: it is no regular file of at "
                                     "most {} bytes",
                                     text::quote(path), kLargestFactsFile)});
    }
    std::string content(status.size_bytes, '\0');
    const auto got = (*file)->read_at(0, std::as_writable_bytes(std::span(content)));
    if (!got) {
        return cannot(got.error());
    }
    content.resize(*got);
    return profile::parse_host_facts(content, path);
}

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

struct Checker {
    const Session& session;
    const cli::Request& request;
    HostFacts macos; ///< facts that Mach-O programs are judged by
    profile::TrustedFolders& trust;
    profile::Catalogue& catalogue;
    std::optional<profile::Profile> named; ///< by --profile or $METALRUN_PROFILE
    std::vector<std::string> assumptions = {};
};

void assume(Checker& checker, std::string sentence) {
    auto& known = checker.assumptions;
    if (std::find(known.begin(), known.end(), sentence) == known.end()) {
        known.push_back(std::move(sentence));
    }
}

/// The chain is followed as `run` does, which leaves large directories and blobs unread.
void read_whole_signatures(System& system, target::Chain& chain) {
    if (!chain.image || !chain.image->content.is_macho()) {
        return;
    }
    if (const auto opened = system.open(chain.image->path)) {
        chain.image->content = target::read_content(**opened, macho::Depth::verify);
    }
}

void verify_pages(System& system, target::Chain& chain, bool every_slice,
                  const macho::SliceFacts* running) {
    std::optional<target::Image>& image = chain.image;
    if (!image || image->content.macho() == nullptr) {
        return;
    }
    const auto opened = system.open(image->path);
    const macho::FileFacts* file = image->content.macho();
    if (!opened) {
        return;
    }
    for (const macho::SliceFacts& slice : file->slices) {
        const bool wanted =
            (every_slice || &slice == running) && slice.signature && *slice.signature;
        image->pages.push_back(wanted ? std::optional(macho::check_pages(**opened, slice))
                                      : std::nullopt);
    }
}

Result<judge::ShimFacts> shim_for(Checker& checker, const launch::Plan& plan, bool is_elf) {
    System& system = checker.session.system;
    const bool named = plan.shim.origin != launch::kBuiltInDefault;
    if (named || is_elf || system.stat(plan.shim.value)) {
        return target::inspect_shim(system, plan.shim.value,
                                    plan.shim_sha256.empty() ? target::Digest::not_needed
                                                             : target::Digest::needed,
                                    checker.trust);
    }
    const bool universal = plan.children.value != profile::Children::stock;
    assume(checker, universal ? "the standard library, ad hoc signed: arm64, arm64e and x86_64"
                              : "the standard library, ad hoc signed: arm64");
    return standard_shim(universal);
}

Result<report::CheckedTarget> check_one(Checker& checker, const std::string& path) {
    System& system = checker.session.system;
    target::Chain chain = target::inspect(system, path, {});
    read_whole_signatures(system, chain);
    const bool is_elf = chain.image && chain.image->content.is_elf();
    const HostFacts host = is_elf ? checker.session.host : checker.macos;
    cli::Request request = checker.request;
    request.policy.anywhere = request.policy.anywhere || is_elf;
    request.operands = {path};
    auto chosen = choose_profile(checker.named, request, chain, checker.catalogue);
    if (!chosen) {
        return fail(std::move(chosen.error()));
    }
    auto plan = make_plan(checker.session, *chosen, request, host);
    if (!plan) {
        return fail(std::move(plan.error()));
    }
    const macho::FileFacts* file = chain.image ? chain.image->content.macho() : nullptr;
    const macho::SliceFacts* running =
        file != nullptr ? judge::running_slice(*file, plan->arch) : nullptr;
    verify_pages(system, chain, checker.request.policy.verify, running);
    auto shim = shim_for(checker, *plan, is_elf);
    if (!shim) {
        return fail(std::move(shim.error()));
    }
    judge::Question question{.chain = chain, .host = host, .plan = *plan};
    if (judge::needs_shim(question)) {
        question.shim = &*shim;
    }
    const bool runs = running != nullptr && running->image && running->image->is_executable();
    report::CheckedTarget target{.verdict = judge::judge(question),
                                 .library = question.shim != nullptr ? shim->path : std::string{},
                                 .children =
                                     judge::children_inherit(question) ? "inherit" : "stock",
                                 .profile = plan->profile,
                                 .running_slice = runs ? running->name : std::string{}};
    target.chain = std::move(chain);
    return target;
}

ExitStatus status_of(const report::CheckReport& report) {
    ExitStatus status = ExitStatus::success;
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

Result<HostFacts> facts_for(const Session& session, const cli::Request& request) {
    if (request.host_facts) {
        return read_host_facts(session.system, *request.host_facts);
    }
    return session.host.kernel == HostFacts::Kernel::darwin ? session.host : assumed_guest();
}

} // namespace

Result<ExitStatus> check(const Session& session, const cli::Request& request) {
    if (request.operands.empty()) {
        return fail({.code = Errc::usage, .message = "'check' needs at least one PATH"});
    }
    auto facts = facts_for(session, request);
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
    Checker checker{.session = session,
                    .request = asked,
                    .macos = std::move(*facts),
                    .trust = trust,
                    .catalogue = catalogue,
                    .named = std::move(*named)};
    if (checker.macos.source == HostFacts::Source::assumed) {
        assume(checker, "a macOS 26.5 guest on Apple silicon with System Integrity Protection on");
    }
    report::CheckReport report{.host = checker.macos, .version = kVersion};
    for (const std::string& path : request.operands) {
        auto target = check_one(checker, path);
        if (!target) {
            return fail(std::move(target.error()));
        }
        report.targets.push_back(std::move(*target));
    }
    report.assumptions = checker.assumptions;
    session.print(request.json ? report::render_check_json(report)
                               : report::render_check(report, report::Colour::off));
    return status_of(report);
}

} // namespace metalrun::commands
