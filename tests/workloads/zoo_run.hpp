// SPDX-License-Identifier: MIT
//
// The programs of the zoo for the tests: what is known of each original, and how one is started by
// the built metalrun with chosen answers, or as a user starts it.
#pragma once

#include "harness.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace zoo_test {

using metalrun::test::Command;
using metalrun::test::Outcome;
using metalrun::test::Strings;

/// One original. The section is that of the workload research in which its decisions are written.
struct Workload {
    const char* name;
    const char* section;
    const char* profile; ///< the shipped profile that knows it; empty: none does
    const char* status;  ///< what the research calls it: beneficial, no-benefit or unsafe
    Strings command;     ///< program and arguments; the program below the zoo's folder
};

[[nodiscard]] const std::vector<Workload>& workloads();
[[nodiscard]] const Workload& workload(std::string_view name);

/// Path of a program of the zoo.
[[nodiscard]] std::string program(std::string_view path_in_zoo);

/// Starts it with these answers: "stock", or a ceiling as "1007", with threadgroup memory behind a
/// plus: "1009+65536". Such answers are asked for, so that no profile stops them.
[[nodiscard]] Outcome run_with(const Workload& workload, std::string_view answers,
                               const Strings& environment = {});

/// `metalrun --anywhere OPTIONS -- COMMAND`: the profile is the one that is found.
[[nodiscard]] Outcome start(Strings command, const Strings& options = {});

/// The line that the program prints; the stand-in for llama-bench logs to standard error.
[[nodiscard]] std::string said(const Outcome& outcome);
[[nodiscard]] bool took_fast_path(const Outcome& outcome);

} // namespace zoo_test
