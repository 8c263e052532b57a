// SPDX-License-Identifier: MIT
//
// One file of `check` from its path to its verdict. What does not depend on the file is found once.
#pragma once

#include "cli/command_line.hpp"
#include "commands/session.hpp"
#include "report/check_report.hpp"
#include "target/chain.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace metalrun::commands {

class Checker {
public:
    /// `named` is the profile by --profile or $METALRUN_PROFILE; `macos` the facts that Mach-O
    /// programs are judged by. The references outlive the checker.
    Checker(const Session& session, const cli::Request& request, HostFacts macos,
            profile::TrustedFolders& trust, profile::Catalogue& catalogue,
            std::optional<profile::Chosen> named);

    /// A damaged or missing file is a verdict. Errors: a profile or an option that cannot be used.
    [[nodiscard]] Result<report::CheckedTarget> check(const std::string& path);

    [[nodiscard]] const HostFacts& macos() const { return macos_; }
    /// What was assumed so far, each a sentence, in the order in which it mattered.
    [[nodiscard]] const std::vector<std::string>& assumptions() const { return assumptions_; }

private:
    void assume(std::string sentence);
    /// What starting `path` would start: for a launcher script its target.
    struct Subject {
        target::Chain chain;
        cli::Request request;
        std::optional<profile::Chosen> named;
    };
    [[nodiscard]] Subject find_subject(const std::string& path);
    [[nodiscard]] target::Chain follow(const std::string& program,
                                       const target::SearchPath& search);
    /// Reads what a start leaves unread, and hashes pages. The name of the slice that runs, or
    /// none.
    [[nodiscard]] std::string read_all(target::Image& image, const launch::Plan& plan);
    [[nodiscard]] const judge::ShimFacts& shim_for(const launch::Plan& plan, bool is_elf);
    [[nodiscard]] judge::ShimFacts look_at_shim(const launch::Plan& plan, bool is_elf);

    const Session& session_;
    const cli::Request& request_;
    HostFacts macos_;
    profile::TrustedFolders& trust_;
    profile::Catalogue& catalogue_;
    std::optional<profile::Chosen> named_;
    target::SearchPath search_;
    std::vector<std::string> assumptions_;
    std::map<std::pair<std::string, bool>, judge::ShimFacts> shims_; ///< by path and digest
};

} // namespace metalrun::commands
