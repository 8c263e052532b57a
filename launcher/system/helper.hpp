// SPDX-License-Identifier: MIT
//
// Running a helper program (the probe) as a child, with a time limit and both outputs captured. The
// only user of Boost.Process; the run path never includes this header.
#pragma once

#include "result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace metalrun {

struct HelperRequest {
    std::string path;
    std::vector<std::string> arguments; ///< without argv[0]
    std::vector<std::string> environment;
    std::chrono::milliseconds limit{30'000};
};

struct HelperResult {
    int status = 0;         ///< exit status, or 128 + the signal's number
    bool timed_out = false; ///< it was killed at the limit
    std::string output;     ///< at most kLargestOutput bytes
    std::string errors;     ///< likewise
};

inline constexpr std::size_t kLargestOutput = 1U << 20;

/// Errors: Errc::system if the program cannot be started.
[[nodiscard]] Result<HelperResult> run_helper(const HelperRequest& request);

} // namespace metalrun
