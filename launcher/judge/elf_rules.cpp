// SPDX-License-Identifier: MIT
//
// Whether an ELF program starts here and lets a library in: execve(2), ld.so(8).
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::judge {

namespace rule {

// --- launch -------------------------------------------------------------------------------------

std::optional<Finding> chain_problem(const Question& q) {
    return q.chain.problem;
}

std::optional<Finding> malformed(const Question& q) {
    const target::Image* image = image_of(q);
    const std::string* damage = image != nullptr ? image->content.damage() : nullptr;
    if (damage == nullptr) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::launch, Outcome::no_start, FindingId::malformed,
                               format("{}: {}", text::escape(image->path), *damage));
    finding.help = "the file is damaged or was cut short: install it again";
    return finding;
}

std::optional<Finding> not_executable(const Question& q) {
    const elf::Facts* facts = target_elf(q);
    if (facts == nullptr || facts->type != elf::Type::other) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::no_start, FindingId::not_executable,
                 format("{} is an object or core file, not a program", target_name(q)));
    finding.help = "name the linked program";
    return finding;
}

std::optional<Finding> loader_missing(const Question& q) {
    const elf::Facts* facts = target_elf(q);
    if (facts == nullptr || !image_of(q)->loader_missing) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::launch, Outcome::no_start, FindingId::loader_missing,
                               format("cannot run {}: its loader {} is not there", target_name(q),
                                      quote(facts->interpreter)));
    finding.help = "the program was built for another system: install a build for this one";
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
    Finding finding = error_at(
        starts ? Step::target : Step::launch, starts ? Outcome::stripped : Outcome::no_start,
        FindingId::wrong_architecture,
        format("{} is built for {}, this machine is {}", target_name(q), machine_text(*facts),
               elf::machine_name(elf::machine_of(q.host.architecture))));
    finding.help = "use a build for this machine";
    return finding;
}

std::optional<Finding> set_id(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || !image->gains_rights) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::target, Outcome::stripped, FindingId::set_id,
                               format("{} changes its rights when it starts, so the system ignores "
                                      "libraries to insert",
                                      target_name(q)));
    finding.facts.push_back(image->rights);
    finding.help = "run a copy without the set-id bit, or use '--stock'";
    return finding;
}

namespace {

// Programs that become or start another one: with stock children the shim stays behind in them.
std::optional<Finding> starter(const Question& q) {
    static constexpr std::array<std::string_view, 24> kStarters{
        "arch",      "caffeinate",   "chroot", "doas",    "env",    "ionice",
        "launchctl", "nice",         "nohup",  "open",    "script", "setpriv",
        "setsid",    "sandbox-exec", "screen", "ssh",     "stdbuf", "su",
        "sudo",      "taskset",      "time",   "timeout", "tmux",   "xargs"};
    const target::Image* image = image_of(q);
    const std::string name = image != nullptr ? target::base_name(image->path) : std::string{};
    if (std::find(kStarters.begin(), kStarters.end(), name) == kStarters.end()) {
        return std::nullopt;
    }
    Finding finding = error_at(
        Step::target, Outcome::stripped, FindingId::starts_elsewhere,
        format("{} starts another program, and the shim would stay behind in it", target_name(q)));
    finding.help = format("put it in front: {} metalrun -- PROGRAM", name);
    return finding;
}

} // namespace

std::optional<Finding> starts_elsewhere(const Question& q) {
    if (q.plan.children.value != profile::Children::stock) {
        return std::nullopt;
    }
    if (!q.chain.passes_env) {
        return starter(q);
    }
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::starts_elsewhere,
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
    Finding finding = error_at(
        Step::target, Outcome::stripped, FindingId::static_program,
        format("{} is statically linked: nothing loads a library into it", target_name(q)));
    finding.facts.emplace_back("it names no loader (PT_INTERP)");
    finding.help = "use a dynamically linked build, or '--stock'";
    return finding;
}

} // namespace rule

} // namespace metalrun::judge
