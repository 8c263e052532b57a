// SPDX-License-Identifier: MIT
//
// From a value of a TOML document to a member of a profile, each with the message for what does not
// fit: the functions that loader.cpp's table of keys names.
#pragma once

#include "profile/profile.hpp"
#include "profile/toml.hpp"
#include "report/text.hpp"
#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metalrun::profile {

using toml::Position;
using toml::Value;

/// A profile on its way.
struct Context {
    std::string origin; ///< for messages
    std::string folder; ///< what relative paths are relative to
    Profile profile;
    Position limit_at; ///< of the last raised limit, for the rule on family "stock"
    std::string limit_key;
};

using Done = Result<void>;

/// An error at a place of the document.
[[nodiscard]] std::unexpected<Error> fail_at(const Context& context, Position at,
                                             std::string_view message, std::string help = {});

/// The value is of another type than `expected`.
[[nodiscard]] std::unexpected<Error> wrong_type(const Context& context, const Value& value,
                                                std::string_view path, std::string_view expected);

/// An error of values.hpp, with the place and the key before it.
[[nodiscard]] std::unexpected<Error> at_value(const Context& context, const Value& value,
                                              std::string_view path, const Error& error);

/// Nothing that goes to a system call may hold a NUL: it would end there.
[[nodiscard]] Result<std::string> read_string(const Context& context, const Value& value,
                                              std::string_view path);
[[nodiscard]] Result<std::string> read_filled_string(const Context& context, const Value& value,
                                                     std::string_view path);
[[nodiscard]] Result<std::vector<std::string>>
read_strings(const Context& context, const Value& value, std::string_view path);

/// Stores what `parse` makes of a string.
template <class T, class Parse>
[[nodiscard]] Done read_word(const Context& context, const Value& value, std::string_view path,
                             Parse parse, T& into) {
    const std::string* string = value.string();
    if (string == nullptr) {
        return wrong_type(context, value, path, "a string");
    }
    auto parsed = parse(*string);
    if (!parsed) {
        return at_value(context, value, path, parsed.error());
    }
    into = *parsed;
    return {};
}

/// Integers and text mean the same here: `threadgroup_memory = 32768` and `= "32 KiB"`.
template <class T, class Parse>
[[nodiscard]] Done read_word_or_integer(const Context& context, const Value& value,
                                        std::string_view path, Parse parse, T& into) {
    const std::int64_t* number = value.integer();
    if (number == nullptr && value.string() == nullptr) {
        return wrong_type(context, value, path, "a string or an integer");
    }
    auto parsed = parse(number != nullptr ? std::to_string(*number) : *value.string());
    if (!parsed) {
        return at_value(context, value, path, parsed.error());
    }
    into = *parsed;
    return {};
}

/// As parse_family(); text that begins with a minus is told as the number it is.
[[nodiscard]] Result<Family> family_of(const std::string& text);

[[nodiscard]] Done store(Result<std::string> string, std::optional<std::string>& into);
[[nodiscard]] Done store(Result<std::string> string, std::string& into);

template <class T>
[[nodiscard]] Done store_list(Result<std::vector<T>> list, std::vector<T>& into) {
    if (!list) {
        return fail(std::move(list.error()));
    }
    into = std::move(*list);
    return {};
}

/// Absolute: a relative path is resolved against the profile's folder; `@` and `~` are refused.
[[nodiscard]] Result<std::string> read_path(const Context& context, const Value& value,
                                            std::string_view path);
/// A name without a slash is left for the search in PATH.
[[nodiscard]] Done read_program(const Context& context, const Value& value, std::string_view path,
                                std::optional<std::string>& into);
/// Variables that a profile may set, or unset.
[[nodiscard]] Result<std::vector<Variable>>
read_variables(const Context& context, const Value& value, std::string_view path);
[[nodiscard]] Result<std::vector<std::string>>
read_variable_names(const Context& context, const Value& value, std::string_view path);
/// Patterns, none of them empty; for base names: none with a slash.
[[nodiscard]] Result<std::vector<std::string>>
read_patterns(const Context& context, const Value& value, std::string_view path);
[[nodiscard]] Result<std::vector<std::string>>
read_name_patterns(const Context& context, const Value& value, std::string_view path);
/// 64 lower-case hexadecimal digits.
[[nodiscard]] Done read_checksum(const Context& context, const Value& value, std::string_view path,
                                 std::optional<std::string>& into);
/// Remembers the last raised limit in the context.
[[nodiscard]] Done read_limit(Context& context, const Value& value, std::string_view path,
                              Result<Limit> (*parse)(std::string_view), std::optional<Limit>& into);
[[nodiscard]] Done read_boolean(const Context& context, const Value& value, std::string_view path,
                                std::optional<bool>& into);
/// Keys of the last record, and of the last quirk.
[[nodiscard]] Done read_runs(Context& context, const Value& value, std::string_view path);
[[nodiscard]] Done read_record_family(Context& context, const Value& value, std::string_view path);
[[nodiscard]] Done read_record_memory(Context& context, const Value& value, std::string_view path);
[[nodiscard]] Done read_guest_os(Context& context, const Value& value, std::string_view path);

} // namespace metalrun::profile
