// SPDX-License-Identifier: MIT
//
// The form of every diagnostic: `metalrun: error: …`, then `note:` and `help:` lines.
#pragma once

#include "judge/finding.hpp"
#include "profile/lint.hpp"
#include "result.hpp"

#include <string>
#include <string_view>

namespace metalrun::doctor {
struct Finding;
}

namespace metalrun::report {

enum class Colour : std::uint8_t { off, on };

[[nodiscard]] std::string render(const Error& error, Colour colour);

/// All of a finding, at its severity.
[[nodiscard]] std::string render(const judge::Finding& finding, Colour colour);

/// A flaw of the profile at `path`, at its severity.
[[nodiscard]] std::string render(const profile::Flaw& flaw, const std::string& path, Colour colour);

/// A finding of the doctor's: the command that mends it has a line of its own.
[[nodiscard]] std::string render(const doctor::Finding& finding, Colour colour);

/// One line at note level: `metalrun: note: message [id]`.
[[nodiscard]] std::string render_note(std::string_view message, std::string_view finding_id,
                                      Colour colour);

/// A finding as the error that ends a start.
[[nodiscard]] Error to_error(const judge::Finding& finding, Errc code);

} // namespace metalrun::report
