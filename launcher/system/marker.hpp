// SPDX-License-Identifier: MIT
//
// How the marker is written into a file.
#pragma once

#include <cstdint>

#if defined(__APPLE__)
#define METALRUN_MARKER_SECTION "__TEXT,__metalrun"
#else
#define METALRUN_MARKER_SECTION ".note.metalrun"
#endif

namespace metalrun {

/// elf(5): a note is two sizes, a type, the owner's name and the descriptor, each padded to 4
/// bytes.
struct MarkerNote {
    std::uint32_t name_size = 9;
    std::uint32_t descriptor_size = 12;
    std::uint32_t type = 1;
    char name[12] = "metalrun";       // NOLINT(*-avoid-c-arrays): layout of the note
    char descriptor[12] = "launcher"; // NOLINT(*-avoid-c-arrays): layout of the note
};

} // namespace metalrun
