// SPDX-License-Identifier: MIT
//
// The cross-built libraries that the tests execute. They need not be there: then the tests say how
// many cases were skipped, and fail if METALRUN_REQUIRE_MACOS=1 says that they must be.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace emulation {

/// The file that the environment names, or else the one that the build names.
inline std::string library_path(const char* variable, const char* otherwise) {
    const char* named = std::getenv(variable);
    return named != nullptr && *named != '\0' ? named : otherwise;
}

inline bool is_there(const std::string& path, const char* rung, std::size_t cases) {
    if (std::filesystem::exists(path)) {
        return true;
    }
    std::printf("%s: %zu cases skipped, there is no '%s'\n", rung, cases, path.c_str());
    const char* required = std::getenv("METALRUN_REQUIRE_MACOS");
    CHECK_MESSAGE((required == nullptr || std::string_view(required) != "1"),
                  "the cross-built library is required: ", path);
    return false;
}

} // namespace emulation
