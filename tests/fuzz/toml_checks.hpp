// SPDX-License-Identifier: MIT
//
// What holds for every error that a TOML document is answered with.
#pragma once

#include "fuzz_input.hpp"
#include "result.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace metalrun::tests {

/// "fuzz.toml:LINE:COLUMN: …" with a line that the text has, and nothing that a terminal obeys.
inline void require_place(const Error& error, Errc code, std::string_view text) {
    constexpr std::string_view kOrigin = "fuzz.toml:";
    require(error.code == code, "the error is the document's");
    require(error.message.starts_with(kOrigin), "the message names the document");
    std::size_t digits = 0;
    const unsigned long line = std::stoul(error.message.substr(kOrigin.size(), 10), &digits);
    const auto lines = static_cast<unsigned long>(std::ranges::count(text, '\n')) + 1;
    require(line >= 1 && line <= lines, "the line is the document's");
    require(error.message.substr(kOrigin.size() + digits, 1) == ":", "the place has a column");
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    require(std::ranges::none_of(error.message, is_control) &&
                std::ranges::none_of(error.help, is_control),
            "messages hold no control characters");
}

} // namespace metalrun::tests
