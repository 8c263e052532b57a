// SPDX-License-Identifier: MIT
//
// The one compilation of {fmt}, and the quoting rules of every message.
#define FMT_HEADER_ONLY 1
#include "report/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace metalrun::text {

namespace {

unsigned char byte_at(std::string_view bytes, std::size_t index) {
    return static_cast<unsigned char>(bytes[index]);
}

// Length of the UTF-8 sequence that starts at `index`, or 0 if there is none (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view bytes, std::size_t index) {
    const unsigned char first = byte_at(bytes, index);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || length > bytes.size() - index) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(bytes, index + i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    const unsigned char second = byte_at(bytes, index + 1);
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
    return overlong || beyond ? 0 : length;
}

// Characters that a terminal acts on without showing them: C1 controls, marks and overrides of the
// writing direction, line and paragraph separators.
bool is_hidden(std::string_view bytes, std::size_t index, std::size_t length) {
    const unsigned char first = byte_at(bytes, index);
    if (length == 2) {
        return first == 0xC2 && byte_at(bytes, index + 1) < 0xA0;
    }
    if (length != 3 || first != 0xE2) {
        return false;
    }
    const unsigned char second = byte_at(bytes, index + 1);
    const unsigned char third = byte_at(bytes, index + 2);
    return (second == 0x80 &&
            (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE))) ||
           (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

std::string escaped_byte(unsigned char byte) {
    switch (byte) {
    case '\n':
        return "\\n";
    case '\t':
        return "\\t";
    case '\r':
        return "\\r";
    case '\\':
        return "\\\\";
    default:
        return fmt::format("\\x{:02x}", byte);
    }
}

std::string escape_with(std::string_view bytes, bool inside_quotes) {
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = utf8_length(bytes, i);
        const unsigned char byte = byte_at(bytes, i);
        if (length > 1 && is_hidden(bytes, i, length)) {
            for (std::size_t k = 0; k < length; ++k) {
                out += escaped_byte(byte_at(bytes, i + k));
            }
            i += length;
            continue;
        }
        if (length == 0 || byte < 0x20 || byte == 0x7F || byte == '\\') {
            out += escaped_byte(byte);
            ++i;
            continue;
        }
        if (inside_quotes && byte == '\'') {
            out += '\\';
        }
        out.append(bytes.substr(i, length));
        i += length;
    }
    return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[b.size()];
}

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Where the character of this number begins, or the end.
std::size_t offset_of(std::string_view utf8, std::size_t character) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        if (begins_character(utf8[i]) && seen++ == character) {
            return i;
        }
    }
    return utf8.size();
}

} // namespace

std::string vformat(fmt::string_view pattern, fmt::format_args arguments) {
    return fmt::vformat(pattern, arguments);
}

std::string error_text(int number) {
    return std::strerror(number); // NOLINT(concurrency-mt-unsafe): threads only hash pages
}

std::string quote(std::string_view bytes) {
    return "'" + escape_with(bytes, true) + "'";
}

std::string escape(std::string_view bytes) {
    return escape_with(bytes, false);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    // A long word is noise, not a slip of the finger; the cap also bounds the work.
    constexpr std::size_t kLongestWord = 80;
    if (word.size() > kLongestWord) {
        return {};
    }
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

bool is_utf8(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = utf8_length(bytes, i);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

std::size_t width(std::string_view utf8) {
    return static_cast<std::size_t>(std::ranges::count_if(utf8, begins_character));
}

std::string elide(std::string_view utf8, std::size_t most) {
    const std::size_t all = width(utf8);
    if (all <= most || most == 0) {
        return std::string(most == 0 ? std::string_view{} : utf8);
    }
    const std::size_t head = (most - 1) / 3;
    const std::size_t tail = most - 1 - head;
    return concat(utf8.substr(0, offset_of(utf8, head)), "…",
                  utf8.substr(offset_of(utf8, all - tail)));
}

std::string basic_string(std::string_view bytes) {
    const bool plain = std::all_of(bytes.begin(), bytes.end(), [](char byte) {
        return byte >= ' ' && byte < '\x7f' && byte != '"' && byte != '\\';
    });
    std::string out = "\"";
    if (plain) {
        out += bytes;
        return out + '"';
    }
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = utf8_length(bytes, i);
        const unsigned char byte = byte_at(bytes, i);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            ++i;
            continue;
        }
        if (byte == '"' || byte == '\\') {
            out += '\\';
            out += static_cast<char>(byte);
        } else if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\u{:04x}", byte);
        } else {
            out.append(bytes.substr(i, length));
        }
        i += length;
    }
    return out + '"';
}

} // namespace metalrun::text
