// SPDX-License-Identifier: MIT
//
// Devices that are not made as the simulated one is, and what the shim makes of each. Like the
// table of cases.hpp, for the native library and for the machine code for macOS.
#pragma once

#include "cases.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace shim_test {

enum class Shape : std::uint8_t {
    own,         ///< supportsFamily: is overridden in the concrete class
    two_levels,  ///< and in the class between; each calls the one above
    missing,     ///< there is no recommendedMaxWorkingSetSize
    other_type,  ///< supportsFamily: of the concrete class takes an object
    no_hook,     ///< there is no initGPUFamilySupport
    made_before, ///< the device is older than the hook
    observed,    ///< as by KVO: its class is one made for it, and -class does not say so
    two_devices, ///< a second device of the class, made later; that one is asked
    unchangeable ///< the second method cannot be replaced
};

struct ShapeCase {
    const char* name;
    Shape shape;
    bool late;
    std::string answers;
    std::string events; ///< in the receipt
};

inline std::vector<std::string> settings_of(const ShapeCase& row) {
    std::vector<std::string> settings{family("1009")};
    if (row.late) {
        settings.emplace_back(kLate);
    }
    if (row.shape == Shape::missing || row.shape == Shape::unchangeable) {
        settings.push_back(working_set("6000000000"));
    }
    return settings;
}

/// GNU's runtime cannot take a method away from the simulated device; classes without it are in
/// swizzle_test.cpp, and the emulated processor has a runtime of its own.
inline bool is_for_gnu(Shape shape) {
    return shape != Shape::missing && shape != Shape::no_hook;
}

inline std::vector<ShapeCase> shape_cases() {
    const std::string both = "loaded, active, active";
    const std::string one = "loaded, active";
    const std::string none = "loaded";
    const std::string refused =
        "loaded, stock: a method of the device class is missing or has another type";
    const std::string no_hook =
        "loaded, stock: initGPUFamilySupport of '_MTLDevice' is missing or has another type";
    const std::string rolled_back =
        "loaded, stock: a method of the device class could not be replaced";
    const std::string no_set = "yes to 1005 3003, memory 32768, set 0, bfloat16 emulated";
    return {
        {"overridden in the concrete class, early", Shape::own, false, kPublished, both},
        {"overridden in the concrete class, late", Shape::own, true, kPublishedLate, one},
        {"overridden at two levels, early", Shape::two_levels, false, kPublished, both},
        {"overridden at two levels, late", Shape::two_levels, true, kPublishedLate, one},
        {"a selector missing, early", Shape::missing, false, no_set, refused},
        {"a selector missing, late", Shape::missing, true, no_set, refused},
        {"another type encoding, early", Shape::other_type, false, kStock, refused},
        {"another type encoding, late", Shape::other_type, true, kStock, refused},
        {"initGPUFamilySupport missing, early", Shape::no_hook, false, kStock, no_hook},
        {"initGPUFamilySupport missing, late", Shape::no_hook, true, kPublishedLate, one},
        {"made before the hook, early", Shape::made_before, false, kStock, none},
        {"made before the hook, late", Shape::made_before, true, kPublishedLate, one},
        // Early, the class was changed before the observer's was made from it.
        {"observed as by KVO, early", Shape::observed, false, kPublished, one},
        {"observed as by KVO, late", Shape::observed, true, kPublishedLate, one},
        {"a second device of the class, early", Shape::two_devices, false, kPublished, both},
        {"a second device of the class, late", Shape::two_devices, true, kPublished, one},
        {"roll-back, early", Shape::unchangeable, false, kStock, rolled_back},
        {"roll-back, late", Shape::unchangeable, true, kStock, rolled_back},
    };
}

} // namespace shim_test
