// SPDX-License-Identifier: MIT
//
// Whether this process runs with rights that its caller does not have.
#pragma once

namespace metalrun {

/// True after a set-id exec: issetugid(2) on macOS, getauxval(AT_SECURE) on Linux.
[[nodiscard]] bool has_borrowed_rights();

} // namespace metalrun
