// SPDX-License-Identifier: MIT
//
// The words of a profile value, shared by the TOML loader and the command line, so that
// `--family apple7` and `apple_family = "apple7"` can never differ. Each parser answers an
// Error{Errc::usage} whose message says what is accepted; the callers add the place.
#pragma once

#include "profile/profile.hpp"
#include "result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace metalrun::profile {

/// "stock", "host", "apple1"…"apple10" or "1001"…"1010". Metal, Mac, Common and Catalyst families
/// are refused with a sentence of their own: they are never advertised (workloads, section 5).
[[nodiscard]] Result<Family> parse_family(std::string_view text);
[[nodiscard]] Result<Family> parse_family(std::int64_t number);

/// "stock", plain bytes, or a number with a unit ("32768", "64 KiB", "64KiB", "1.5 GiB" is refused:
/// whole numbers only). Units: B, KiB, MiB, GiB; KB, MB, GB are refused as ambiguous with a help.
[[nodiscard]] Result<Limit> parse_limit(std::string_view text);

/// parse_limit() with the bound of threadgroup memory (kLargestThreadgroupMemory).
[[nodiscard]] Result<Limit> parse_threadgroup_memory(std::string_view text);

[[nodiscard]] Result<Hook> parse_hook(std::string_view text);
[[nodiscard]] Result<Children> parse_children(std::string_view text);
[[nodiscard]] Result<OnRefusal> parse_on_refusal(std::string_view text);
[[nodiscard]] Result<WhenUncertain> parse_when_uncertain(std::string_view text);
[[nodiscard]] Result<Where> parse_where(std::string_view text);
[[nodiscard]] Result<WorkloadStatus> parse_workload_status(std::string_view text);
[[nodiscard]] Result<QuirkLevel> parse_quirk_level(std::string_view text);

/// The words that the parsers above accept.
[[nodiscard]] std::string to_string(Family family); ///< "stock", "host" or "apple7"
[[nodiscard]] std::string to_string(Limit limit);   ///< "stock", or bytes as text
[[nodiscard]] std::string_view to_string(Hook value);
[[nodiscard]] std::string_view to_string(Children value);
[[nodiscard]] std::string_view to_string(OnRefusal value);
[[nodiscard]] std::string_view to_string(WhenUncertain value);
[[nodiscard]] std::string_view to_string(Where value);
[[nodiscard]] std::string_view to_string(WorkloadStatus value);
[[nodiscard]] std::string_view to_string(QuirkLevel value);

/// True if an environment name may never be set or unset by a profile: DYLD_*, LD_*, LUME_METAL_*,
/// METALRUN_*.
[[nodiscard]] bool is_reserved_variable(std::string_view name);

/// True for the version of a system: one to three numbers of at most four digits, joined by dots.
[[nodiscard]] bool is_version(std::string_view text);

/// True if `os` (such as "14.3.1") falls under a quirk's guest_os: "13" or "14.3" (that version and
/// all below it), "14.0..14.3" (inclusive, by the digits given), ">=15". An error says what is
/// wrong with the pattern. An empty `os` (unknown) never falls under any.
[[nodiscard]] Result<bool> covers_os(std::string_view pattern, std::string_view os);

} // namespace metalrun::profile
