// SPDX-License-Identifier: MIT
//
// What `metalrun doctor` looks at, by bounded reads: facts for judge/doctor_rules.hpp.
#pragma once

#include "commands/session.hpp"
#include "judge/doctor_rules.hpp"

#include <string>

namespace metalrun::commands {

/// `session.host` is the host that is judged; `facts_file` says that it is another machine, whose
/// device, ports and launchd cannot be asked. Starts the probe and, on macOS, launchctl(1).
[[nodiscard]] doctor::Facts gather_doctor_facts(const Session& session,
                                                const std::string& facts_file);

/// The parts: what is installed …
void look_at_installation(const Session& session, doctor::Facts& facts);

/// … and the session: variables, start-up files, launchd jobs, links in PATH.
void look_at_session(const Session& session, doctor::Facts& facts);

} // namespace metalrun::commands
