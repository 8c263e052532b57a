// SPDX-License-Identifier: MIT
//
// Any bytes as a start-up file of a shell, and as a property list of launchd.
#include "fuzz_input.hpp"
#include "judge/session_files.hpp"

#include <algorithm>
#include <string_view>

namespace {

using namespace metalrun;
using tests::require;

// It is put into a command: see the doctor's rules.
bool is_plain(std::string_view name) {
    return std::ranges::all_of(name, [](char c) {
        return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               (c >= '0' && c <= '9');
    });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = tests::input_bytes(data, size);
    const std::string_view text = as_text(bytes);
    const auto lines = doctor::scan_shell_file(text);
    require(lines.size() <= doctor::kMostSetLines, "lines are capped");
    std::size_t last = 1;
    for (const doctor::SetLine& line : lines) {
        require(line.line >= last, "lines come in order");
        require(doctor::is_watched_variable(line.name), "only watched names are reported");
        require(is_plain(line.name), "names are plain");
        last = line.line;
    }
    require(last <= 1 + static_cast<std::size_t>(std::ranges::count(text, '\n')),
            "every line is one of the text's");
    if (const auto job = doctor::read_launch_job(bytes)) {
        for (const auto* names : {&job->own, &job->session}) {
            require(std::ranges::all_of(*names, doctor::is_watched_variable),
                    "only watched names are reported");
        }
    } else {
        require(!job.error().empty(), "an error says what is wrong");
    }
    return 0;
}
