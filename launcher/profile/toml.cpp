// SPDX-License-Identifier: MIT
//
// toml++ -> values of ours. It is compiled in header-only mode without exceptions: the packaged
// library is built with exceptions and does not export the other interface.
#include "profile/toml.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

// toml++ 3.3 states as facts what a malformed document breaks ("a key begins with a key
// character"): failed assertions in a debug build, and in a release build hints that let clang drop
// the checks that follow them. Both are taken out; the checks then give an error.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

namespace metalrun::toml {

static_assert(kDeepestValue == TOML_MAX_NESTED_VALUES);

namespace {

Position position_of(const ::toml::source_position& at) {
    return {.line = at.line, .column = at.column};
}

struct Refusal {
    Position at;
    std::string_view message;
};

// Counts the parts of dotted keys before toml++ sees the text. toml++ bounds nested values, but a
// key of half a million parts becomes as many nested tables, whose destruction overflows the stack.
// Up to the first syntax error this scanner agrees with TOML on what is a string or a comment; what
// follows an error is never built.
class DotScanner {
public:
    explicit DotScanner(std::string_view text) : text_(text) {}

    std::optional<Refusal> scan() {
        while (index_ < text_.size()) {
            const char c = text_[index_];
            if (c == '"' || c == '\'') {
                skip_string(c);
                continue;
            }
            if (c == '#') {
                skip_to_line_end();
                continue;
            }
            if (c == '.') {
                ++parts_;
                ++dots_;
            } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') {
                parts_ = 1;
            }
            if (parts_ > kLongestDottedKey || dots_ > kMostDots) {
                return refusal();
            }
            ++index_;
        }
        return std::nullopt;
    }

private:
    void skip_to_line_end() { index_ = std::min(text_.find('\n', index_), text_.size()); }

    void skip_string(char quote) {
        const std::string_view rest = text_.substr(index_);
        const bool multi_line = rest.size() >= 3 && rest[1] == quote && rest[2] == quote;
        index_ += multi_line ? 3 : 1;
        std::size_t quotes = 0;
        while (index_ < text_.size()) {
            const char c = text_[index_];
            if (!multi_line && c == '\n') {
                return;
            }
            ++index_;
            if (c == '\\' && quote == '"') {
                ++index_;
                quotes = 0;
                continue;
            }
            quotes = c == quote ? quotes + 1 : 0;
            if (quotes == (multi_line ? 3U : 1U)) {
                break;
            }
        }
        // Up to two more quotes belong to the text of a multi-line string: """a""""" ends in two.
        for (int extra = 0; multi_line && extra < 2 && at(index_) == quote; ++extra) {
            ++index_;
        }
    }

    [[nodiscard]] char at(std::size_t index) const {
        return index < text_.size() ? text_[index] : '\0';
    }

    [[nodiscard]] Refusal refusal() const {
        Position where{.line = 1, .column = 1};
        for (const char c : text_.substr(0, index_)) {
            where.column = c == '\n' ? 1 : where.column + 1;
            where.line += c == '\n' ? 1 : 0;
        }
        return {where, parts_ > kLongestDottedKey ? "this key has more than 16 parts"
                                                  : "this document has too many dotted keys"};
    }

    std::string_view text_;
    std::size_t index_ = 0;
    std::size_t parts_ = 1;
    std::size_t dots_ = 0;
};

Value value_of(const ::toml::node& node);

Array array_of(const ::toml::array& array) {
    Array values;
    values.reserve(array.size());
    for (const ::toml::node& element : array) {
        values.push_back(value_of(element));
    }
    return values;
}

Table table_of(const ::toml::table& table) {
    Table result;
    result.entries.reserve(table.size());
    for (const auto& [key, node] : table) {
        result.entries.push_back({.key = std::string(key.str()),
                                  .key_at = position_of(key.source().begin),
                                  .value = value_of(node)});
    }
    // toml++ sorts by name.
    std::ranges::sort(result.entries, [](const Entry& a, const Entry& b) {
        return std::pair(a.key_at.line, a.key_at.column) <
               std::pair(b.key_at.line, b.key_at.column);
    });
    return result;
}

Value value_of(const ::toml::node& node) {
    Value value;
    value.at = position_of(node.source().begin);
    if (const auto* text = node.as_string()) {
        value.data = text->get();
    } else if (const auto* integer = node.as_integer()) {
        value.data = integer->get();
    } else if (const auto* real = node.as_floating_point()) {
        value.data = real->get();
    } else if (const auto* boolean = node.as_boolean()) {
        value.data = boolean->get();
    } else if (const auto* array = node.as_array()) {
        value.data = array_of(*array);
    } else if (const auto* table = node.as_table()) {
        value.data = table_of(*table);
    } else {
        value.data = DateTime{};
    }
    return value;
}

// "Error while parsing key-value pair: cannot redefine …" -> "cannot redefine …", on one line.
std::string message_of(std::string_view description) {
    constexpr std::string_view kHead = "Error while parsing ";
    if (description.starts_with(kHead)) {
        const std::size_t colon = description.find(": ");
        description.remove_prefix(colon == std::string_view::npos ? kHead.size() : colon + 2);
    }
    if (const std::size_t macro = description.find(" (TOML_MAX_NESTED");
        macro != std::string::npos) {
        description = description.substr(0, macro);
    }
    while (!description.empty() && description.back() == '.') {
        description.remove_suffix(1);
    }
    const bool printable =
        text::is_utf8(description) && std::ranges::none_of(description, [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        });
    return printable ? std::string(description) : text::escape(description);
}

} // namespace

const Value* Table::find(std::string_view key) const {
    const auto found = std::ranges::find(entries, key, &Entry::key);
    return found == entries.end() ? nullptr : &found->value;
}

std::string_view Value::type_name() const {
    switch (data.index()) {
    case 0:
        return "a string";
    case 1:
        return "an integer";
    case 2:
        return "a floating-point number";
    case 3:
        return "a boolean";
    case 5:
        return "an array";
    case 6:
        return "a table";
    default:
        return "a date or time";
    }
}

std::string place(const std::string& origin, Position at) {
    return text::format("{}:{}:{}: ", text::escape(origin), at.line, at.column);
}

Result<Table> parse(std::string_view text, const std::string& origin, Errc code) {
    if (const auto refusal = DotScanner(text).scan()) {
        return fail(
            {.code = code, .message = place(origin, refusal->at) + std::string(refusal->message)});
    }
    const ::toml::parse_result parsed = ::toml::parse(text);
    if (!parsed) {
        const ::toml::parse_error& error = parsed.error();
        return fail({.code = code,
                     .message = place(origin, position_of(error.source().begin)) +
                                message_of(error.description())});
    }
    return table_of(parsed.table());
}

} // namespace metalrun::toml
