// SPDX-License-Identifier: MIT
//
// The steps from a chain to a plan that a start and a check share.
#pragma once

#include "commands/session.hpp"
#include "target/chain.hpp"

#include <optional>

namespace metalrun::commands {

/// `named` (by --profile or $METALRUN_PROFILE), else the profile whose [match] fits the chain and
/// the target's arguments, else `default`.
[[nodiscard]] Result<profile::Chosen> choose_profile(const std::optional<profile::Chosen>& named,
                                                     const cli::Request& request,
                                                     const target::Chain& chain,
                                                     profile::Catalogue& catalogue);

/// `named`, else the profile NAME. For a command that starts no target of the user's.
[[nodiscard]] Result<profile::Chosen> named_or(std::optional<profile::Chosen> named,
                                               const std::string& name,
                                               profile::Catalogue& catalogue);

/// Makes --shim absolute, before the current directory changes.
[[nodiscard]] Result<void> resolve_shim_option(System& system, cli::Request& request);

/// The plan, with the installed library that fits: on macOS the universal one where children get
/// it, so that no child of another architecture is ended, and where the slice of `image` that is
/// started is no arm64 one.
[[nodiscard]] Result<launch::Plan> make_plan(const Session& session, const profile::Chosen& chosen,
                                             const cli::Request& request, const HostFacts& host,
                                             const std::optional<target::Image>& image);

} // namespace metalrun::commands
