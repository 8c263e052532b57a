// SPDX-License-Identifier: MIT
#include "macho/format.hpp"
#include "macho/grading.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::macho;

namespace {

// Slices are named by what they are, whatever the name that facts.cpp would give.
SliceFacts slice_of(std::string_view name, std::uint32_t cputype, std::uint32_t cpusubtype) {
    SliceFacts slice{.cputype = cputype, .cpusubtype = cpusubtype};
    slice.name = name;
    return slice;
}

const SliceFacts kArm64 = slice_of("arm64", kCpuTypeArm64, 0);
const SliceFacts kArm64V8 = slice_of("v8", kCpuTypeArm64, 1);
const SliceFacts kV0 = slice_of("v0", kCpuTypeArm64, 0x80000002);
const SliceFacts kV1 = slice_of("v1", kCpuTypeArm64, 0x81000002);
const SliceFacts kOld = slice_of("old", kCpuTypeArm64, 0x00000002);
const SliceFacts kFuture = slice_of("future", kCpuTypeArm64, 0x82000002);
const SliceFacts kUnknown = slice_of("unknown", kCpuTypeArm64, 0x8000000c);
const SliceFacts kIntel = slice_of("x86_64", kCpuTypeX86x64, 3);
const SliceFacts kIntelLib64 = slice_of("lib64", kCpuTypeX86x64, 0x80000003);
const SliceFacts kHaswell = slice_of("x86_64h", kCpuTypeX86x64, 8);
const SliceFacts kOldIntel = slice_of("i386", kCpuTypeX86, 3);

FileFacts universal(std::vector<SliceFacts> slices) {
    return {.container = Container::universal, .slices = std::move(slices)};
}

std::string name_of(const SliceFacts* slice) {
    return slice != nullptr ? slice->name : "none";
}

std::string runs(std::vector<SliceFacts> slices, Grading grading = Grading::since_14_4,
                 std::optional<Preference> preference = std::nullopt) {
    return name_of(kernel_slice(universal(std::move(slices)), grading, preference));
}

std::string loads(std::vector<SliceFacts> slices, Process process, Grading grading) {
    return name_of(library_slice(universal(std::move(slices)), process, grading));
}

std::string loads_thin(const SliceFacts& slice, Process process, Grading grading) {
    return name_of(
        library_slice({.container = Container::thin, .slices = {slice}}, process, grading));
}

} // namespace

// xnu bsd/dev/arm/kern_machdep.c grade_binary, bsd/kern/mach_fat.c fatfile_getarch.
TEST_SUITE("macho.grading.kernel") {
    TEST_CASE("arm64e of the current ABI is preferred, then of others, then v8, then arm64") {
        CHECK(runs({kArm64, kArm64V8, kFuture, kV0}) == "v0");
        CHECK(runs({kArm64, kArm64V8, kFuture}) == "future");
        CHECK(runs({kArm64, kArm64V8}) == "v8");
        CHECK(runs({kIntel, kArm64}) == "arm64");
        CHECK(runs({kIntel}) == "x86_64");
    }

    TEST_CASE("the order of the table does not matter") {
        CHECK(runs({kV0, kFuture, kArm64V8, kArm64, kIntel}) == "v0");
        CHECK(runs({kArm64, kIntel}) == "arm64");
    }

    TEST_CASE("an arm64e slice without a version has version 0") {
        CHECK(runs({kFuture, kOld}) == "old");
    }

    TEST_CASE("two ABIs are current since macOS 26") {
        CHECK(runs({kV1, kV0}, Grading::since_14_4) == "v0");
        CHECK(runs({kV1, kV0}, Grading::since_26) == "v1"); // equal: the first
        CHECK(runs({kFuture, kV1}, Grading::since_26) == "v1");
        CHECK(runs({kFuture, kV1}, Grading::since_14_4) == "future");
    }

    TEST_CASE("what the machine cannot run is not taken") {
        CHECK(runs({kUnknown, kArm64}) == "arm64");
        CHECK(runs({kUnknown}) == "none");
        CHECK(runs({kOldIntel, kHaswell}) == "none");
        CHECK(runs({}) == "none");
        CHECK(runs({kHaswell, kIntelLib64}) == "lib64");
    }

    // xnu bsd/kern/kern_exec.c exec_fat_imgact, binary_match.
    TEST_CASE("a preference comes before grading and is not traded for another architecture") {
        const auto with = [](std::vector<SliceFacts> slices, Preference preference) {
            return runs(std::move(slices), Grading::since_26, preference);
        };
        CHECK(with({kV0, kArm64, kIntel}, kPreferArm64) == "arm64");
        CHECK(with({kArm64, kV0, kIntel}, kPreferArm64e) == "v0");
        CHECK(with({kArm64, kV0, kIntel}, kPreferX86x64) == "x86_64");
        CHECK(with({kArm64V8, kV0}, kPreferArm64) == "none");
        CHECK(with({kArm64}, kPreferArm64e) == "none");
        CHECK(with({kHaswell}, kPreferX86x64) == "none");
    }

    TEST_CASE("the high byte of a preference and of the slice does not count, grading decides") {
        CHECK(runs({kFuture, kV0}, Grading::since_14_4, kPreferArm64e) == "v0");
        CHECK(runs({kFuture}, Grading::since_14_4, kPreferArm64e) == "future");
        CHECK(runs({kIntelLib64}, Grading::since_14_4, kPreferX86x64) == "lib64");
        CHECK(runs({kV0}, Grading::since_14_4,
                   Preference{.cputype = kCpuTypeArm64, .cpusubtype = 0x8f000002}) == "v0");
    }

    TEST_CASE("a thin file is a table of one") {
        const FileFacts thin{.container = Container::thin, .slices = {kArm64}};
        CHECK(name_of(kernel_slice(thin, Grading::since_26)) == "arm64");
        CHECK(name_of(kernel_slice(thin, Grading::since_26, kPreferX86x64)) == "none");
    }

    TEST_CASE("pointer authentication is on for the current ABI only") {
        CHECK(process_of(kV0, Grading::before_14_4) == Process::arm64e);
        CHECK(process_of(kV1, Grading::since_14_4) == Process::arm64e_keys_off);
        CHECK(process_of(kV1, Grading::since_26) == Process::arm64e);
        CHECK(process_of(kFuture, Grading::since_26) == Process::arm64e_keys_off);
        CHECK(process_of(kArm64V8, Grading::since_26) == Process::arm64);
        CHECK(process_of(kIntel, Grading::since_26) == Process::x86_64);
        CHECK_FALSE(process_of(kUnknown, Grading::since_26).has_value());
    }
}

// dyld mach_o/GradedArchitectures.cpp; before 1323 common/MachOFile.cpp GradedArchs.
TEST_SUITE("macho.grading.library") {
    TEST_CASE("an arm64 process prefers the arm64e slice since macOS 14.4") {
        CHECK(loads({kArm64, kV0}, Process::arm64, Grading::before_14_4) == "arm64");
        CHECK(loads({kArm64, kV0}, Process::arm64, Grading::since_14_4) == "v0");
        CHECK(loads({kArm64, kV0}, Process::arm64, Grading::since_26) == "v0");
        CHECK(loads({kV0}, Process::arm64, Grading::before_14_4) == "none");
    }

    TEST_CASE("an arm64e process takes arm64e only, and before 14.4 nothing of third parties") {
        CHECK(loads({kArm64, kV0}, Process::arm64e, Grading::before_14_4) == "none");
        CHECK(loads({kArm64, kV0}, Process::arm64e, Grading::since_14_4) == "v0");
        CHECK(loads({kArm64, kIntel}, Process::arm64e, Grading::since_14_4) == "none");
        CHECK(loads({kArm64, kArm64V8}, Process::arm64e, Grading::since_26) == "none");
    }

    TEST_CASE("without keys an arm64e process is served as an arm64 one") {
        for (const Grading grading :
             {Grading::before_14_4, Grading::since_14_4, Grading::since_26}) {
            CHECK(loads({kArm64, kV0, kIntel}, Process::arm64e_keys_off, grading) ==
                  loads({kArm64, kV0, kIntel}, Process::arm64, grading));
            CHECK(loads({kArm64}, Process::arm64e_keys_off, grading) == "arm64");
        }
    }

    TEST_CASE("the ABI's version counts since macOS 26") {
        CHECK(loads({kV1}, Process::arm64e, Grading::since_14_4) == "v1");
        CHECK(loads({kV1}, Process::arm64e, Grading::since_26) == "none");
        CHECK(loads({kArm64, kV1}, Process::arm64, Grading::since_26) == "v1");
        CHECK(loads({kV1, kV0}, Process::arm64, Grading::since_26) == "v0");
        CHECK(loads({kFuture, kArm64}, Process::arm64, Grading::since_26) == "arm64");
    }

    TEST_CASE("arm64 v8 is taken since macOS 26, behind arm64") {
        CHECK(loads({kArm64V8}, Process::arm64, Grading::since_14_4) == "none");
        CHECK(loads({kArm64V8}, Process::arm64, Grading::since_26) == "v8");
        CHECK(loads({kArm64V8, kArm64}, Process::arm64, Grading::since_26) == "arm64");
    }

    // dyld mach_o/Universal.cpp forEachSlice.
    TEST_CASE("arm64e without a version is version 0 in a universal header, refused alone") {
        CHECK(loads({kOld}, Process::arm64e, Grading::since_26) == "old");
        CHECK(loads_thin(kOld, Process::arm64e, Grading::since_26) == "none");
        CHECK(loads_thin(kOld, Process::arm64e, Grading::since_14_4) == "old");
        const FileFacts wide{.container = Container::universal64, .slices = {kOld}};
        CHECK(name_of(library_slice(wide, Process::arm64e, Grading::since_26)) == "none");
    }

    TEST_CASE("under Rosetta only x86_64 fits, whatever its high byte") {
        CHECK(loads({kArm64, kHaswell, kIntelLib64}, Process::x86_64, Grading::since_26) ==
              "lib64");
        CHECK(loads({kArm64, kHaswell}, Process::x86_64, Grading::since_26) == "none");
        CHECK(loads({kIntel}, Process::arm64, Grading::since_26) == "none");
    }
}
