// SPDX-License-Identifier: MIT
#include "profile/readers.hpp"

#include "profile/values.hpp"

#include <algorithm>

namespace metalrun::profile {

using toml::Array;
using toml::Entry;
using toml::Table;

namespace {

constexpr std::size_t kChecksumDigits = 64;
constexpr std::int64_t kMostRuns = 1'000'000;

} // namespace

std::unexpected<Error> fail_at(const Context& context, Position at, std::string_view message,
                               std::string help) {
    return fail({.code = Errc::profile,
                 .message = toml::place(context.origin, at) + std::string(message),
                 .help = std::move(help)});
}

std::unexpected<Error> wrong_type(const Context& context, const Value& value, std::string_view path,
                                  std::string_view expected) {
    return fail_at(context, value.at,
                   text::format("'{}' must be {}, not {}", path, expected, value.type_name()));
}

std::unexpected<Error> at_value(const Context& context, const Value& value, std::string_view path,
                                const Error& error) {
    return fail_at(context, value.at, text::format("'{}': {}", path, error.message), error.help);
}

// --- scalars ------------------------------------------------------------------------------------

Result<std::string> read_string(const Context& context, const Value& value, std::string_view path) {
    const std::string* string = value.string();
    if (string == nullptr) {
        return wrong_type(context, value, path, "a string");
    }
    if (string->find('\0') != std::string::npos) {
        return fail_at(context, value.at, text::format("'{}' must not contain a NUL", path));
    }
    return *string;
}

Result<std::string> read_filled_string(const Context& context, const Value& value,
                                       std::string_view path) {
    Result<std::string> string = read_string(context, value, path);
    if (string && string->empty()) {
        return fail_at(context, value.at, text::format("'{}' must not be empty", path));
    }
    return string;
}

Result<std::vector<std::string>> read_strings(const Context& context, const Value& value,
                                              std::string_view path) {
    const Array* array = value.array();
    if (array == nullptr) {
        return wrong_type(context, value, path, "an array of strings");
    }
    std::vector<std::string> strings;
    strings.reserve(array->size());
    for (const Value& element : *array) {
        Result<std::string> string = read_string(context, element, path);
        if (!string) {
            return fail(std::move(string.error()));
        }
        strings.push_back(std::move(*string));
    }
    return strings;
}

Result<Family> family_of(const std::string& text) {
    return text.starts_with('-') ? parse_family(std::int64_t{-1}) : parse_family(text);
}

Done store(Result<std::string> string, std::optional<std::string>& into) {
    if (!string) {
        return fail(std::move(string.error()));
    }
    into = std::move(*string);
    return {};
}

Done store(Result<std::string> string, std::string& into) {
    if (!string) {
        return fail(std::move(string.error()));
    }
    into = std::move(*string);
    return {};
}

// --- paths --------------------------------------------------------------------------------------

Result<std::string> read_path(const Context& context, const Value& value, std::string_view path) {
    Result<std::string> string = read_filled_string(context, value, path);
    if (!string || string->starts_with('/')) {
        return string;
    }
    if (string->starts_with('@')) {
        return fail_at(context, value.at,
                       text::format("'{}': paths that begin with '@' are never accepted", path),
                       "write an absolute path, or one relative to the folder of the profile");
    }
    if (string->starts_with("~/") || *string == "~") {
        return fail_at(context, value.at, text::format("'{}': '~' has no meaning here", path),
                       "write an absolute path, or one relative to the folder of the profile");
    }
    const std::string_view slash = context.folder.ends_with('/') ? "" : "/";
    return text::format("{}{}{}", context.folder, slash, *string);
}

Done read_program(const Context& context, const Value& value, std::string_view path,
                  std::optional<std::string>& into) {
    const std::string* string = value.string();
    const bool has_slash = string != nullptr && string->find('/') != std::string::npos;
    return store(has_slash ? read_path(context, value, path)
                           : read_filled_string(context, value, path),
                 into);
}

// --- variables ----------------------------------------------------------------------------------

namespace {

Done check_variable(const Context& context, Position at, const std::string& name) {
    if (name.empty() || name.find('=') != std::string::npos ||
        name.find('\0') != std::string::npos) {
        return fail_at(context, at,
                       text::format("{} is not the name of a variable", text::quote(name)));
    }
    if (is_reserved_variable(name)) {
        return fail_at(context, at,
                       text::format("{} is reserved: a profile must not touch DYLD_*, LD_*, "
                                    "LUME_METAL_* or METALRUN_*",
                                    text::quote(name)));
    }
    return {};
}

} // namespace

Result<std::vector<Variable>> read_variables(const Context& context, const Value& value,
                                             std::string_view path) {
    const Table* table = value.table();
    if (table == nullptr) {
        return wrong_type(context, value, path, "a table of strings");
    }
    std::vector<Variable> variables;
    for (const Entry& entry : table->entries) {
        if (Done checked = check_variable(context, entry.key_at, entry.key); !checked) {
            return fail(std::move(checked.error()));
        }
        Result<std::string> text =
            read_string(context, entry.value, text::format("{}.{}", path, text::escape(entry.key)));
        if (!text) {
            return fail(std::move(text.error()));
        }
        variables.emplace_back(entry.key, std::move(*text));
    }
    return variables;
}

Result<std::vector<std::string>> read_variable_names(const Context& context, const Value& value,
                                                     std::string_view path) {
    Result<std::vector<std::string>> names = read_strings(context, value, path);
    for (std::size_t i = 0; names && i < names->size(); ++i) {
        Done checked = check_variable(context, (*value.array())[i].at, (*names)[i]);
        if (!checked) {
            return fail(std::move(checked.error()));
        }
    }
    return names;
}

// --- patterns and checksums ---------------------------------------------------------------------

Result<std::vector<std::string>> read_patterns(const Context& context, const Value& value,
                                               std::string_view path) {
    Result<std::vector<std::string>> patterns = read_strings(context, value, path);
    for (std::size_t i = 0; patterns && i < patterns->size(); ++i) {
        if ((*patterns)[i].empty()) {
            return fail_at(context, (*value.array())[i].at,
                           text::format("'{}' has an empty pattern", path));
        }
    }
    return patterns;
}

// Base names have no slash, so a pattern with one would never fit.
Result<std::vector<std::string>> read_name_patterns(const Context& context, const Value& value,
                                                    std::string_view path) {
    Result<std::vector<std::string>> patterns = read_patterns(context, value, path);
    for (std::size_t i = 0; patterns && i < patterns->size(); ++i) {
        if ((*patterns)[i].find('/') != std::string::npos) {
            return fail_at(context, (*value.array())[i].at,
                           text::format("'{}': the pattern {} has a slash, but is compared with "
                                        "base names",
                                        path, text::quote((*patterns)[i])));
        }
    }
    return patterns;
}

Done read_checksum(const Context& context, const Value& value, std::string_view path,
                   std::optional<std::string>& into) {
    Result<std::string> text = read_string(context, value, path);
    if (!text) {
        return fail(std::move(text.error()));
    }
    const bool hexadecimal = std::ranges::all_of(
        *text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    if (!hexadecimal || text->size() != kChecksumDigits) {
        return fail_at(context, value.at,
                       text::format("'{}' must be 64 lower-case hexadecimal digits, not {}", path,
                                    text::quote(*text)));
    }
    into = std::move(*text);
    return {};
}

// --- single keys --------------------------------------------------------------------------------

Done read_limit(Context& context, const Value& value, std::string_view path,
                Result<Limit> (*parse)(std::string_view), std::optional<Limit>& into) {
    Done done = read_word_or_integer(context, value, path, parse, into);
    if (done && into && into->bytes > 0) {
        context.limit_at = value.at;
        context.limit_key = path;
    }
    return done;
}

Done read_boolean(const Context& context, const Value& value, std::string_view path,
                  std::optional<bool>& into) {
    const bool* boolean = value.boolean();
    if (boolean == nullptr) {
        return wrong_type(context, value, path, "true or false");
    }
    into = *boolean;
    return {};
}

Done read_runs(Context& context, const Value& value, std::string_view path) {
    const std::int64_t* number = value.integer();
    if (number == nullptr) {
        return wrong_type(context, value, path, "an integer");
    }
    if (*number < 1 || *number > kMostRuns) {
        return fail_at(context, value.at,
                       text::format("'{}' must be from 1 to {}, not {}", path, kMostRuns, *number));
    }
    context.profile.workload.records.back().runs = static_cast<std::uint32_t>(*number);
    return {};
}

Done read_record_family(Context& context, const Value& value, std::string_view path) {
    Family family;
    Done done = read_word_or_integer(context, value, path, family_of, family);
    if (done && family.kind != Family::Kind::ceiling) {
        return fail_at(context, value.at,
                       text::format("'{}' must be the family that was measured", path));
    }
    context.profile.workload.records.back().apple_family = family.ceiling;
    return done;
}

Done read_record_memory(Context& context, const Value& value, std::string_view path) {
    Limit limit;
    Done done = read_word_or_integer(context, value, path, parse_threadgroup_memory, limit);
    context.profile.workload.records.back().threadgroup_memory = limit.bytes;
    return done;
}

Done read_guest_os(Context& context, const Value& value, std::string_view path) {
    Result<std::string> pattern = read_string(context, value, path);
    if (!pattern) {
        return fail(std::move(pattern.error()));
    }
    if (const Result<bool> covered = covers_os(*pattern, ""); !covered) {
        return at_value(context, value, path, covered.error());
    }
    context.profile.quirks.back().guest_os = std::move(*pattern);
    return {};
}

} // namespace metalrun::profile
