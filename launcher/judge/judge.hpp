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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::judge {

/// What was seen of the library to insert.
struct ShimFacts {
    std::string path;
    int open_error = 0; ///< errno of opening it, or 0
    FileStatus status;
    target::Content content;
    bool no_execution = false;           ///< its file system lets nothing be executed
    std::vector<macho::PageCheck> pages; ///< one per slice of a signed Mach-O library
    bool quarantined = false;
    bool on_shared_folder = false; ///< its file system is the host's (virtiofs)
    /// A library that it needs and that is not there; empty: none, or not looked for.
    std::string missing_dependency = {};
    std::optional<Error> distrust; ///< who else may write to it
    std::string published;         ///< name of the published library that it is; empty: none
    std::string sha256;            ///< lower-case hex; empty: not asked for
};

/// Everything a verdict may depend on. The references outlive the call only.
struct Question {
    const target::Chain& chain;
    const ShimFacts* shim = nullptr; ///< absent: not inspected
    const HostFacts& host;
    const launch::Plan& plan;
    const launch::Insertion* insertion = nullptr; ///< what was inherited, if known
    /// The target's arguments behind argv[0]; absent where there are none to know (check).
    std::optional<std::span<const std::string>> arguments = {};
    std::string_view argv0 = {}; ///< what was asked for in place of the name as typed, or empty
    bool runs_foreign_programs =
        false; ///< the kernel has handlers for other machines (binfmt_misc)
};

/// True if the decision depends on the shim: nothing before it decides.
[[nodiscard]] bool needs_shim(const Question& question);

/// The slice of a Mach-O program that is started: the one asked for, else arm64 whenever it is
/// there (metalrun pins it; the kernel would prefer arm64e), else arm64v8, else arm64e. Null if it
/// is not there.
[[nodiscard]] const macho::SliceFacts* running_slice(const macho::FileFacts& file,
                                                     std::optional<cli::Arch> asked);

/// True if a 64-bit program of this machine type runs here as it is.
[[nodiscard]] bool fits_host(const elf::Facts& facts, const HostFacts& host);

/// Whether children of this start get the shim, too: `inherit-if-safe` says no where a child of
/// another architecture could be ended by it.
[[nodiscard]] bool children_inherit(const Question& question);

[[nodiscard]] Verdict judge(const Question& question);

/// The status of a start that was refused for this reason.
[[nodiscard]] Errc errc_of(const Finding& finding);

} // namespace metalrun::judge
