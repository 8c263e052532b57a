// SPDX-License-Identifier: MIT
#include "report/shell_text.hpp"

#include "report/text.hpp"

#include <algorithm>

namespace metalrun::text {

namespace {

bool is_plain(char c) {
    static constexpr std::string_view kSigns = "/._-+,:@%=";
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           kSigns.find(c) != std::string_view::npos;
}

bool is_control(char c) {
    constexpr char kFirstPrintable = 0x20;
    constexpr char kDelete = 0x7f;
    return (c >= 0 && c < kFirstPrintable) || c == kDelete;
}

std::string with_escapes(std::string_view bytes) {
    std::string out = "$'";
    for (const char c : bytes) {
        if (c == '\'' || c == '\\') {
            out += concat("\\", std::string_view(&c, 1));
        } else if (is_control(c) || static_cast<unsigned char>(c) > 0x7f) {
            out += format("\\{:03o}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
            out += c;
        }
    }
    return out + "'";
}

} // namespace

std::string shell_word(std::string_view bytes) {
    // zsh replaces a word that begins with an equals sign.
    if (!bytes.empty() && bytes.front() != '=' && std::ranges::all_of(bytes, is_plain)) {
        return std::string(bytes);
    }
    if (!is_utf8(bytes) || std::ranges::any_of(bytes, is_control)) {
        return with_escapes(bytes);
    }
    std::string out = "'";
    for (const char c : bytes) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

std::string shell_command(std::initializer_list<std::string_view> words) {
    std::string out;
    for (const std::string_view word : words) {
        out += concat(out.empty() ? "" : " ", shell_word(word));
    }
    return out;
}

} // namespace metalrun::text
