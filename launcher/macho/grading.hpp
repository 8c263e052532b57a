// SPDX-License-Identifier: MIT
//
// Which slice of a universal file counts: the one that the kernel of an Apple Silicon Mac runs, and
// the one that dyld takes of a library. Both grade by the universal header; a thin file is a table
// of one. Pure functions: whether the slice then runs at all is for the judge.
#pragma once

#include "macho/facts.hpp"

#include <cstdint>
#include <optional>

namespace metalrun::macho {

/// Where grading changed, by macOS version.
enum class Grading : std::uint8_t {
    before_14_4, ///< 13.0 to 14.3: arm64e slices of third-party libraries are not graded
    since_14_4,  ///< 14.4 to 15
    since_26,    ///< two arm64e ABIs are current; dyld compares the whole subtype
};

/// An architecture that was asked for (posix_spawnattr_setarchpref_np).
struct Preference {
    std::uint32_t cputype = 0;
    std::uint32_t cpusubtype = 0; ///< its high byte does not count

    bool operator==(const Preference&) const = default;
};

inline constexpr Preference kPreferArm64{.cputype = 0x0100000c, .cpusubtype = 0};
inline constexpr Preference kPreferArm64e{.cputype = 0x0100000c, .cpusubtype = 2};
inline constexpr Preference kPreferX86x64{.cputype = 0x01000007, .cpusubtype = 3};

/// The slice that the kernel runs; null if there is none that it would. A preference comes before
/// grading and is not traded for another architecture. Sources: xnu bsd/kern/mach_fat.c
/// fatfile_getarch, bsd/kern/kern_exec.c exec_fat_imgact and binary_match, bsd/dev/arm/
/// kern_machdep.c grade_binary; that arm64 wins over x86_64 is known behaviour, not source. Of
/// fat64 files the answer is what a 32-bit table of the same slices would give.
[[nodiscard]] const SliceFacts* kernel_slice(const FileFacts& file, Grading grading,
                                             std::optional<Preference> preference = std::nullopt);

/// What runs, as dyld tells processes apart when it chooses among the slices of a library.
enum class Process : std::uint8_t {
    arm64,
    arm64e,          ///< with pointer authentication
    arm64e_keys_off, ///< of another ABI than the current one, or a host of plug-ins
    x86_64,          ///< under Rosetta
};

/// The process that this slice of a program becomes (a host of plug-ins cannot be told from its
/// processor); nothing for another architecture.
[[nodiscard]] std::optional<Process> process_of(const SliceFacts& program, Grading grading);

/// The slice that dyld takes of a third-party library; null: it refuses the file. Sources: dyld
/// mach_o/GradedArchitectures.cpp and Architecture.cpp (1323 and later), common/MachOFile.cpp
/// GradedArchs (before), dyld/DyldProcessConfig.cpp getMainArchs. With the boot argument
/// -arm64e_preview_abi macOS before 14.4 grades as 14.4 does.
[[nodiscard]] const SliceFacts* library_slice(const FileFacts& file, Process process,
                                              Grading grading);

} // namespace metalrun::macho
