// SPDX-License-Identifier: MIT
//
// metalrun's marker: an ELF note by which a metalrun is told from the program that a link named
// like it stands for (on macOS the section __TEXT,__metalrun, see system/marker.hpp).
#include "system/marker.hpp"

namespace metalrun {

[[gnu::used, gnu::section(METALRUN_MARKER_SECTION)]] constinit const MarkerNote kMarker{};

} // namespace metalrun
