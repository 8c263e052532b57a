// SPDX-License-Identifier: MIT
//
// What both ways to execute the shim's machine code for macOS are held to, besides single rows of
// the shared table.
#pragma once

#include "../shim/cases.hpp"

#include <string>
#include <utility>
#include <vector>

namespace emulation {

inline std::vector<shim_test::Case> all_cases() {
    auto cases = shim_test::ways_to_a_device();
    for (auto& row : shim_test::settings_and_answers()) {
        cases.push_back(std::move(row));
    }
    for (auto& row : shim_test::published_contract()) {
        cases.push_back(std::move(row));
    }
    return cases;
}

inline constexpr const char* kRaisedSet = "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=7000000000";

/// The last record of a process with a ceiling of 1009 and that set.
inline std::string described_record(long pid) {
    return "[[event]]\npid = " + std::to_string(pid) +
           "\nstate = \"active\"\nclass = \"AppleParavirtDevice\"\n"
           "ceiling = 1009\nfamily_stock = 1005\nfamily_given = 1009\n"
           "device = \"Apple Paravirtual device\"\nthreadgroup_stock = 32768\n"
           "threadgroup_given = 65536\nworking_set_stock = 5010800640\n"
           "working_set_given = 7000000000\n\n";
}

/// An environment that the shim is to take itself out of.
inline std::vector<std::string> children_environment(const std::string& library) {
    return {"FIRST=1", "DYLD_INSERT_LIBRARIES=" + library + ":/opt/other.dylib",
            shim_test::family("1009"), "METALRUN_SHIM_CHILDREN=stock", "LAST=2"};
}

inline const std::vector<std::string> kChildrenEnvironment{
    "FIRST=1", "DYLD_INSERT_LIBRARIES=/opt/other.dylib", "LAST=2"};

} // namespace emulation
