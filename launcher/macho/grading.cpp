// SPDX-License-Identifier: MIT
#include "macho/grading.hpp"

#include "macho/format.hpp"

#include <algorithm>
#include <span>

namespace metalrun::macho {

namespace {

static_assert(kPreferArm64 == Preference{kCpuTypeArm64, kCpuSubtypeArm64All});
static_assert(kPreferArm64e == Preference{kCpuTypeArm64, kCpuSubtypeArm64e});
static_assert(kPreferX86x64 == Preference{kCpuTypeX86x64, kCpuSubtypeX86All});

constexpr std::uint32_t kArm64eV0 = kCpuSubtypeArm64e | kCpuSubtypeArm64eVersioned;
constexpr std::uint32_t kArm64eV1 = kArm64eV0 | 0x01000000;

std::uint32_t plain_subtype(std::uint32_t cpusubtype) {
    return cpusubtype & ~kCpuSubtypeMask;
}

// CPU_SUBTYPE_ARM64_PTR_AUTH_VERSION. An arm64e slice without a version has version 0.
bool has_current_abi(std::uint32_t cpusubtype, Grading grading) {
    const std::uint32_t version = (cpusubtype >> 24U) & 0xFU;
    return version == 0 || (version == 1 && grading == Grading::since_26);
}

// 0: not run.
int kernel_grade(const SliceFacts& slice, Grading grading) {
    const std::uint32_t subtype = plain_subtype(slice.cpusubtype);
    if (slice.cputype == kCpuTypeArm64) {
        switch (subtype) {
        case kCpuSubtypeArm64e:
            return has_current_abi(slice.cpusubtype, grading) ? 12 : 11;
        case kCpuSubtypeArm64V8:
            return 10;
        case kCpuSubtypeArm64All:
            return 9;
        default:
            return 0;
        }
    }
    return slice.cputype == kCpuTypeX86x64 && subtype == kCpuSubtypeX86All ? 1 : 0;
}

bool matches(const SliceFacts& slice, const std::optional<Preference>& preference) {
    return !preference ||
           (slice.cputype == preference->cputype &&
            plain_subtype(slice.cpusubtype) == plain_subtype(preference->cpusubtype));
}

bool is_of_arm64_process(Process process) {
    return process == Process::arm64 || process == Process::arm64e_keys_off;
}

// dyld's Universal::forEachSlice takes an arm64e without a version for version 0, but only in a
// 32-bit table.
bool is_arm64e_v0(const SliceFacts& slice, Container container) {
    return slice.cpusubtype == kArm64eV0 ||
           (container == Container::universal && slice.cpusubtype == kCpuSubtypeArm64e);
}

int whole_subtype_grade(const SliceFacts& slice, Container container, Process process) {
    if (is_arm64e_v0(slice, container)) {
        return 4;
    }
    if (!is_of_arm64_process(process)) {
        return 0;
    }
    switch (slice.cpusubtype) {
    case kArm64eV1:
        return 3;
    case kCpuSubtypeArm64All:
        return 2;
    case kCpuSubtypeArm64V8:
        return 1;
    default:
        return 0;
    }
}

int masked_subtype_grade(const SliceFacts& slice, Process process, Grading grading) {
    switch (plain_subtype(slice.cpusubtype)) {
    case kCpuSubtypeArm64e:
        return grading == Grading::before_14_4 ? 0 : 2;
    case kCpuSubtypeArm64All:
        return is_of_arm64_process(process) ? 1 : 0;
    default:
        return 0;
    }
}

int library_grade(const SliceFacts& slice, Container container, Process process, Grading grading) {
    if (process == Process::x86_64) {
        const bool fits =
            slice.cputype == kCpuTypeX86x64 && plain_subtype(slice.cpusubtype) == kCpuSubtypeX86All;
        return fits ? 1 : 0;
    }
    if (slice.cputype != kCpuTypeArm64) {
        return 0;
    }
    return grading == Grading::since_26 ? whole_subtype_grade(slice, container, process)
                                        : masked_subtype_grade(slice, process, grading);
}

// The first of the slices with the highest grade, if that is not 0.
template <class Grade> const SliceFacts* best(std::span<const SliceFacts> slices, Grade grade) {
    const auto found = std::ranges::max_element(slices, {}, grade);
    return found != slices.end() && grade(*found) > 0 ? &*found : nullptr;
}

} // namespace

const SliceFacts* kernel_slice(const FileFacts& file, Grading grading,
                               std::optional<Preference> preference) {
    return best(file.slices, [&](const SliceFacts& slice) {
        return matches(slice, preference) ? kernel_grade(slice, grading) : 0;
    });
}

std::optional<Process> process_of(const SliceFacts& program, Grading grading) {
    switch (kernel_grade(program, grading)) {
    case 12:
        return Process::arm64e;
    case 11:
        return Process::arm64e_keys_off;
    case 10:
    case 9:
        return Process::arm64;
    case 1:
        return Process::x86_64;
    default:
        return std::nullopt;
    }
}

const SliceFacts* library_slice(const FileFacts& file, Process process, Grading grading) {
    return best(file.slices, [&](const SliceFacts& slice) {
        return library_grade(slice, file.container, process, grading);
    });
}

} // namespace metalrun::macho
