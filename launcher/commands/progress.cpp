// SPDX-License-Identifier: MIT
#include "commands/progress.hpp"

#include "report/text.hpp"

namespace metalrun::commands {

namespace {

constexpr int kStandardError = 2;
constexpr std::string_view kErase = "\r\033[K"; // ECMA-48 EL: to the end of the line

} // namespace

ProgressLine::ProgressLine(const Session& session, Hush hush)
    : session_(session), is_shown_(hush == Hush::no && session.system.is_terminal(kStandardError) &&
                                   launch::find_variable(session.environment, "TERM") != "dumb") {}

ProgressLine::~ProgressLine() {
    if (is_dirty_) {
        session_.print_error(kErase);
    }
}

void ProgressLine::show(std::string_view what, std::uint64_t count) {
    constexpr std::uint64_t kStep = 100;
    if (!is_shown_ || count % kStep != 1) {
        return;
    }
    session_.print_error(text::format("{}{}: {}", kErase, what, count));
    is_dirty_ = true;
}

} // namespace metalrun::commands
