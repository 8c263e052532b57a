// SPDX-License-Identifier: MIT
//
// Host facts from a file, so that a guest can be judged from another machine (metalrun(1), check).
#pragma once

#include "judge/host_facts.hpp"
#include "result.hpp"

#include <string>
#include <string_view>

namespace metalrun::profile {

/// Parses a host-facts file (TOML): os, build, architecture, chip, guest, sip ("on", "off",
/// "unknown"), boot_arguments, translated, metal_device, memory (bytes). All keys are optional, and
/// what is left out is unknown. Errors: Errc::usage, "FILE:LINE:COLUMN: …".
[[nodiscard]] Result<HostFacts> parse_host_facts(std::string_view toml, const std::string& origin);

} // namespace metalrun::profile
