// SPDX-License-Identifier: MIT
//
// judge(target chain, shim, host facts, plan) -> Verdict: a pure function. One rule per finding id
// (rules.cpp); the decision is the first step that an error or a stock finding decides.
#pragma once

#include "elf/elf.hpp"
#include "judge/host_facts.hpp"
#include "judge/verdict.hpp"
#include "launch/environment.hpp"
#include "launch/plan.hpp"
#include "result.hpp"
#include "system/system.hpp"
#include "target/chain.hpp"

#include <expected>
#include <optional>
#include <string>

namespace metalrun::judge {

/// What was seen of the library to insert.
struct ShimFacts {
    std::string path;
    int open_error = 0; ///< errno of opening it, or 0
    FileStatus status;
    std::expected<elf::Facts, elf::Malformed> elf;
    bool no_execution = false;     ///< its file system lets nothing be executed
    std::optional<Error> distrust; ///< who else may write to it
    std::string sha256;            ///< lower-case hex; empty: not asked for
};

/// Everything a verdict may depend on. The references outlive the call only.
struct Question {
    const target::Chain& chain;
    const ShimFacts* shim = nullptr; ///< absent: not inspected
    const HostFacts& host;
    const launch::Plan& plan;
    const launch::Insertion* insertion = nullptr; ///< what was inherited, if known
    bool runs_foreign_programs =
        false; ///< the kernel has handlers for other machines (binfmt_misc)
};

/// True if the decision depends on the shim: nothing before it decides.
[[nodiscard]] bool needs_shim(const Question& question);

/// True if a 64-bit program of this machine type runs here as it is.
[[nodiscard]] bool fits_host(const elf::Facts& facts, const HostFacts& host);

[[nodiscard]] Verdict judge(const Question& question);

/// The status of a start that was refused for this reason.
[[nodiscard]] Errc errc_of(const Finding& finding);

} // namespace metalrun::judge
