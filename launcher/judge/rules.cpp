// SPDX-License-Identifier: MIT
//
// Sources: ld.so(8) for preloading and secure execution, execve(2) for what starts at all.
#include "judge/rules.hpp"

#include "profile/values.hpp"
#include "report/text.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace metalrun::judge {

namespace {

using text::format;
using text::quote;

constexpr std::string_view kStockHelp = "to start it without the shim, use '--stock'";

Finding error_at(Step step, FindingId id, std::string message) {
    return {.id = id, .severity = Severity::error, .step = step, .message = std::move(message)};
}

Finding stock_because(FindingId id, std::string message) {
    return {
        .id = id, .severity = Severity::note, .step = Step::stock, .message = std::move(message)};
}

Finding remark(FindingId id, Severity severity, std::string message) {
    return {.id = id, .severity = severity, .step = Step::none, .message = std::move(message)};
}

const elf::Facts* target_elf(const Question& q) {
    return q.chain.image && q.chain.image->elf ? &*q.chain.image->elf : nullptr;
}

const elf::Facts* shim_elf(const Question& q) {
    return q.shim != nullptr && q.shim->open_error == 0 && q.shim->elf ? &*q.shim->elf : nullptr;
}

std::string machine_text(const elf::Facts& facts) {
    return format("{}{}", elf::machine_name(facts.machine),
                  facts.is_64_bit ? std::string_view{} : std::string_view{", 32-bit"});
}

// --- launch -------------------------------------------------------------------------------------

std::optional<Finding> chain_problem(const Question& q) {
    return q.chain.problem;
}

std::optional<Finding> malformed(const Question& q) {
    if (!q.chain.image || q.chain.image->elf) {
        return std::nullopt;
    }
    const target::Image& image = *q.chain.image;
    Finding finding =
        error_at(Step::launch, FindingId::malformed,
                 format("{}: {}", text::escape(image.path), image.elf.error().message));
    finding.help = "the file is damaged or was cut short: install it again";
    return finding;
}

std::optional<Finding> not_executable(const Question& q) {
    const elf::Facts* facts = target_elf(q);
    if (facts == nullptr || facts->type != elf::Type::other) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, FindingId::not_executable,
                 format("{} is an object or core file, not a program", quote(q.chain.image->path)));
    finding.help = "name the linked program";
    return finding;
}

std::optional<Finding> loader_missing(const Question& q) {
    const elf::Facts* facts = target_elf(q);
    if (facts == nullptr || !q.chain.image->loader_missing) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::launch, FindingId::loader_missing,
                               format("cannot run {}: its loader {} is not there",
                                      quote(q.chain.image->path), quote(facts->interpreter)));
    finding.help = "the program was built for another system: install a build for this one";
    return finding;
}

// --- stock --------------------------------------------------------------------------------------

std::optional<Finding> stock_asked(const Question& q) {
    if (!q.plan.stock_asked) {
        return std::nullopt;
    }
    return stock_because(FindingId::stock_asked, "runs without the shim: '--stock' was given");
}

std::optional<Finding> not_a_guest(const Question& q) {
    if (q.host.guest == Tri::yes || q.plan.where.value == profile::Where::anywhere) {
        return std::nullopt;
    }
    Finding finding =
        stock_because(FindingId::not_a_guest,
                      q.host.guest == Tri::no
                          ? "runs without the shim: this machine is not a macOS guest"
                          : "runs without the shim: it is unknown whether this machine is a guest");
    finding.help = "'--anywhere' inserts the shim here, too";
    return finding;
}

std::optional<Finding> no_benefit(const Question& q) {
    if (q.plan.status != profile::WorkloadStatus::no_benefit || q.plan.family_asked) {
        return std::nullopt;
    }
    Finding finding =
        stock_because(FindingId::no_benefit,
                      format("runs without the shim: the shim is known to be of no use to this "
                             "workload (profile {})",
                             quote(q.plan.profile)));
    if (!q.plan.status_reason.empty()) {
        finding.facts.push_back(q.plan.status_reason);
    }
    finding.help = "'--family apple7' inserts it all the same";
    return finding;
}

// --- workload -----------------------------------------------------------------------------------

std::optional<Finding> refused_workload(const Question& q, profile::WorkloadStatus status,
                                        FindingId id, std::string_view what) {
    if (q.plan.status != status) {
        return std::nullopt;
    }
    const std::string sentence =
        format("profile {}: {}{}{}", quote(q.plan.profile), what,
               q.plan.status_reason.empty() ? std::string_view{} : std::string_view{": "},
               q.plan.status_reason);
    if (q.plan.family_asked) {
        return remark(id, Severity::warning, sentence);
    }
    Finding finding = error_at(Step::workload, id, sentence);
    finding.help = std::string(kStockHelp);
    return finding;
}

std::optional<Finding> unsafe(const Question& q) {
    return refused_workload(q, profile::WorkloadStatus::unsafe, FindingId::unsafe,
                            "raised answers are known to harm this workload");
}

std::optional<Finding> blocked(const Question& q) {
    return refused_workload(q, profile::WorkloadStatus::blocked, FindingId::blocked,
                            "the shim cannot get into this workload");
}

std::optional<Finding> quirk_refuses(const Question& q) {
    for (const launch::AppliedQuirk& quirk : q.plan.quirks) {
        if (quirk.level == profile::QuirkLevel::refuse && !q.plan.family_asked) {
            Finding finding = error_at(Step::workload, FindingId::quirk_applied,
                                       format("profile {} refuses guest OS {}: {}",
                                              quote(q.plan.profile), quirk.guest_os, quirk.note));
            finding.help = std::string(kStockHelp);
            return finding;
        }
    }
    return std::nullopt;
}

// A stock ceiling decides only behind the statuses above: an unsafe profile names no family at all.
std::optional<Finding> profile_stock(const Question& q) {
    const bool refused =
        !q.plan.family_asked && (q.plan.status == profile::WorkloadStatus::unsafe ||
                                 q.plan.status == profile::WorkloadStatus::blocked);
    if (q.plan.ceiling != 0 || refused) {
        return std::nullopt;
    }
    return stock_because(FindingId::profile_stock,
                         format("runs without the shim: {} asks for the stock family",
                                q.plan.family.origin == "command line"
                                    ? std::string("the command line")
                                    : format("profile {}", quote(q.plan.profile))));
}

std::string_view library_help(const Question& q) {
    return q.plan.shim.origin == "built-in default"
               ? "install metalrun again, or name the library with '--shim FILE'"
               : "correct the path, or leave it out to use the installed library";
}

// --- shim ---------------------------------------------------------------------------------------

std::optional<Finding> shim_path(const Question& q) {
    if (q.shim == nullptr) {
        return std::nullopt;
    }
    // dyld splits at colons, ld.so at blanks, too, and replaces $ORIGIN and $LIB; neither has an
    // escape.
    const bool linux = q.host.kernel == HostFacts::Kernel::linux;
    if (q.shim->no_execution) {
        Finding finding =
            error_at(Step::shim, FindingId::shim_path,
                     format("the shim {} lies on a file system that is mounted noexec",
                            quote(q.shim->path)));
        finding.help = "put the library on another file system";
        return finding;
    }
    const std::size_t at = q.shim->path.find_first_of(linux ? ": \t\n$" : ":\n");
    if (at == std::string::npos) {
        return std::nullopt;
    }
    Finding finding = error_at(
        Step::shim, FindingId::shim_path,
        format("the shim's path {} cannot be written in {}: it contains {}", quote(q.shim->path),
               launch::insertion_variable(q.host.kernel), quote(q.shim->path.substr(at, 1))));
    finding.help = "put the library in a folder without such a character in its path";
    return finding;
}

std::optional<Finding> shim_missing(const Question& q) {
    if (q.shim == nullptr || q.shim->open_error == 0) {
        return std::nullopt;
    }
    Finding finding = error_at(
        Step::shim, FindingId::shim_missing,
        format("cannot read the shim {}: {}", quote(q.shim->path),
               std::strerror(q.shim->open_error))); // NOLINT(concurrency-mt-unsafe): one thread
    finding.facts.push_back(format("the path comes from: {}", q.plan.shim.origin));
    finding.help = std::string(library_help(q));
    return finding;
}

std::optional<Finding> shim_not_a_library(const Question& q) {
    if (q.shim == nullptr || q.shim->open_error != 0) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, FindingId::shim_not_a_library, {});
    finding.help = std::string(library_help(q));
    if (q.shim->status.kind != FileKind::regular) {
        finding.message = format("the shim {} is not a regular file", quote(q.shim->path));
        return finding;
    }
    if (!q.shim->elf && !q.shim->elf.error().is_elf) {
        finding.message = format("the shim {} is not a shared library", quote(q.shim->path));
        return finding;
    }
    if (!q.shim->elf) {
        finding.message =
            format("the shim {} is damaged: {}", quote(q.shim->path), q.shim->elf.error().message);
        return finding;
    }
    if (q.shim->elf->is_64_bit && q.shim->elf->is_little_endian &&
        (q.shim->elf->type != elf::Type::shared || !q.shim->elf->interpreter.empty())) {
        finding.message = format("the shim {} is not a shared library", quote(q.shim->path));
        return finding;
    }
    return std::nullopt;
}

std::optional<Finding> shim_architecture(const Question& q) {
    const elf::Facts* library = shim_elf(q);
    if (library == nullptr || fits_host(*library, q.host)) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, FindingId::shim_architecture,
                               format("the shim {} is built for {}, this machine is {}",
                                      quote(q.shim->path), machine_text(*library),
                                      elf::machine_name(elf::machine_of(q.host.architecture))));
    finding.help = "name a library of the right kind with '--shim FILE'";
    return finding;
}

std::optional<Finding> shim_writable_by_others(const Question& q) {
    if (q.shim == nullptr || !q.shim->distrust) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::shim, FindingId::shim_writable_by_others, q.shim->distrust->message);
    finding.facts = q.shim->distrust->notes;
    finding.help = q.shim->distrust->help;
    return finding;
}

std::optional<Finding> shim_checksum(const Question& q) {
    if (q.shim == nullptr || q.shim->open_error != 0 || q.plan.shim_sha256.empty() ||
        q.shim->sha256 == q.plan.shim_sha256) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, FindingId::shim_checksum,
                               format("the shim {} is not the library that profile {} names",
                                      quote(q.shim->path), quote(q.plan.profile)));
    finding.facts = {format("SHA-256 seen:     {}", q.shim->sha256),
                     format("SHA-256 expected: {}", q.plan.shim_sha256)};
    finding.help = "install the library again, or correct 'shim.sha256' in the profile";
    return finding;
}

std::optional<Finding> shim_foreign(const Question& q) {
    const elf::Facts* library = shim_elf(q);
    if (library == nullptr || library->marker == "shim") {
        return std::nullopt;
    }
    Finding finding = remark(
        FindingId::shim_foreign, Severity::warning,
        format("{} is not metalrun's own library: it writes no receipt, and 'children' and 'hook' "
               "cannot be honoured",
               quote(q.shim->path)));
    return finding;
}

// --- target -------------------------------------------------------------------------------------

std::optional<Finding> wrong_architecture(const Question& q) {
    const elf::Facts* facts = target_elf(q);
    if (facts == nullptr || fits_host(*facts, q.host)) {
        return std::nullopt;
    }
    // A 32-bit x86 program runs on x86-64, and others where the kernel has a handler for them.
    constexpr std::uint16_t kI386 = 3;
    const bool starts =
        q.runs_foreign_programs || (facts->machine == kI386 && q.host.architecture == "x86_64");
    Finding finding = error_at(starts ? Step::target : Step::launch, FindingId::wrong_architecture,
                               format("{} is built for {}, this machine is {}",
                                      quote(q.chain.image->path), machine_text(*facts),
                                      elf::machine_name(elf::machine_of(q.host.architecture))));
    finding.help = "use a build for this machine";
    return finding;
}

std::optional<Finding> set_id(const Question& q) {
    if (!q.chain.image || !q.chain.image->gains_rights) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::target, FindingId::set_id,
                               format("{} changes its rights when it starts, so the system ignores "
                                      "libraries to insert",
                                      quote(q.chain.image->path)));
    finding.facts.push_back(q.chain.image->rights);
    finding.help = "run a copy without the set-id bit, or use '--stock'";
    return finding;
}

std::optional<Finding> starts_elsewhere(const Question& q) {
    if (!q.chain.passes_env || q.plan.children.value != profile::Children::stock) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::target, FindingId::starts_elsewhere,
                 format("{} starts its interpreter through env with options that are not followed: "
                        "the shim would stay behind in env",
                        quote(q.chain.path)));
    finding.help = "use '--children inherit', or start the interpreter itself";
    return finding;
}

std::optional<Finding> static_program(const Question& q) {
    const elf::Facts* facts = target_elf(q);
    if (facts == nullptr || !fits_host(*facts, q.host) || facts->type == elf::Type::other ||
        !facts->interpreter.empty()) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::target, FindingId::static_program,
                               format("{} is statically linked: nothing loads a library into it",
                                      quote(q.chain.image->path)));
    finding.facts.emplace_back("it names no loader (PT_INTERP)");
    finding.help = "use a dynamically linked build, or '--stock'";
    return finding;
}

// --- information --------------------------------------------------------------------------------

std::optional<Finding> env_resolved(const Question& q) {
    if (q.chain.arguments.empty() || q.chain.links.empty()) {
        return std::nullopt;
    }
    return remark(FindingId::env_resolved, Severity::note,
                  format("{} names its interpreter through env; {} is started directly",
                         quote(q.chain.links.front().path), quote(q.chain.path)));
}

std::optional<Finding> inherited_insertion(const Question& q) {
    if (q.insertion == nullptr || q.insertion->elements.empty()) {
        return std::nullopt;
    }
    Finding finding = remark(FindingId::inherited_insertion, Severity::note,
                             format("{} was set already; its libraries stay, behind the shim",
                                    launch::insertion_variable(q.host.kernel)));
    finding.facts = q.insertion->elements;
    return finding;
}

std::optional<Finding> inherited_empty_element(const Question& q) {
    if (q.insertion == nullptr || !q.insertion->had_empty) {
        return std::nullopt;
    }
    return remark(FindingId::inherited_empty_element, Severity::note,
                  format("{} had an empty element, which was left out",
                         launch::insertion_variable(q.host.kernel)));
}

std::optional<Finding> untested(const Question& q) {
    if (q.plan.status != profile::WorkloadStatus::untested) {
        return std::nullopt;
    }
    return remark(FindingId::untested, Severity::note,
                  format("no record says what the shim does for this workload (profile {})",
                         quote(q.plan.profile)));
}

std::optional<Finding> quirk_applied(const Question& q) {
    std::optional<Finding> finding;
    for (const launch::AppliedQuirk& quirk : q.plan.quirks) {
        if (quirk.level == profile::QuirkLevel::refuse && !q.plan.family_asked) {
            continue;
        }
        if (!finding) {
            finding = remark(FindingId::quirk_applied, Severity::note,
                             format("profile {} knows of a quirk of guest OS {}",
                                    quote(q.plan.profile), q.host.os));
        }
        if (quirk.level != profile::QuirkLevel::note) {
            finding->severity = Severity::warning;
        }
        finding->facts.push_back(quirk.note);
    }
    return finding;
}

constexpr std::array kRules{// launch
                            chain_problem, malformed, not_executable, loader_missing,
                            wrong_architecture,
                            // stock
                            stock_asked, not_a_guest, no_benefit, profile_stock,
                            // workload
                            unsafe, blocked, quirk_refuses,
                            // shim
                            shim_path, shim_missing, shim_not_a_library, shim_architecture,
                            shim_writable_by_others, shim_checksum,
                            // target
                            set_id, starts_elsewhere, static_program,
                            // information
                            shim_foreign, env_resolved, inherited_insertion,
                            inherited_empty_element, untested, quirk_applied};

} // namespace

std::span<const Rule> rules() {
    return kRules;
}

} // namespace metalrun::judge
