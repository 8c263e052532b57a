// SPDX-License-Identifier: MIT
//
// Whether an ELF program starts here and lets a library in: execve(2), ld.so(8).
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"

#include <utility>

namespace metalrun::judge {

namespace rule {

// --- launch -------------------------------------------------------------------------------------

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
