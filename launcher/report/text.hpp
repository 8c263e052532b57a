// SPDX-License-Identifier: MIT
//
// Text for people: formatting and quoting. text.cpp is the only file that compiles {fmt}'s
// implementation; every other file includes <fmt/core.h> through this header.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace metalrun::text {

[[nodiscard]] std::string vformat(fmt::string_view pattern, fmt::format_args arguments);

/// {fmt} formatting: `text::format("{} of {}", 1, 2)`.
template <class... A>
[[nodiscard]] std::string format(fmt::format_string<A...> pattern, A&&... arguments) {
    return text::vformat(pattern, fmt::make_format_args(arguments...));
}

/// The parts one behind the other: what the way of every start uses, where {fmt}'s machinery would
/// be the larger part of the work.
template <class... Part> [[nodiscard]] std::string concat(const Part&... parts) {
    std::string out;
    out.reserve((std::string_view(parts).size() + ... + 0));
    (out.append(std::string_view(parts)), ...);
    return out;
}

/// What the system says of an errno (strerror(3)).
[[nodiscard]] std::string error_text(int number);

/// `bytes` between single quotes. Control bytes, backslashes, single quotes and bytes that are not
/// UTF-8 appear as \n, \t, \\, \' or \xNN, so that a message is always one printable line.
[[nodiscard]] std::string quote(std::string_view bytes);

/// As quote(), without the surrounding quotes (for the file part of a message).
[[nodiscard]] std::string escape(std::string_view bytes);

/// The entry of `candidates` nearest to `word` by edit distance, if it is near enough to be what
/// was meant (at most a third of the letters differ), else empty.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// `bytes` as a TOML or JSON basic string with its quotes. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string basic_string(std::string_view bytes);

[[nodiscard]] bool is_utf8(std::string_view bytes);

/// How many characters `utf8` has: what it takes of a line, if none is wide or combines.
[[nodiscard]] std::size_t width(std::string_view utf8);

/// `utf8` if it has at most `most` characters, else so many: its begin, an ellipsis, and its end,
/// which tells paths apart better.
[[nodiscard]] std::string elide(std::string_view utf8, std::size_t most);

} // namespace metalrun::text
