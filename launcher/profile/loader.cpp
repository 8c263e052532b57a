// SPDX-License-Identifier: MIT
//
// The profile format, schema 1 (metalrun.toml(5)): one table of keys, each with the function that
// reads it. The document is walked in its own order, so that the first error in the file is the one
// that is told.
#include "profile/loader.hpp"

#include "profile/toml.hpp"
#include "profile/values.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace metalrun::profile {

namespace {

using toml::Array;
using toml::Entry;
using toml::Position;
using toml::Table;
using toml::Value;

constexpr std::int64_t kSchema = 1;
constexpr std::string_view kEnding = ".toml";
constexpr std::size_t kChecksumDigits = 64;
constexpr std::int64_t kMostRuns = 1'000'000;

struct Context {
    std::string origin;
    std::string folder;
    Profile profile;
    Position limit_at; ///< of the last raised limit, for the rule on family "stock"
    std::string limit_key;
};

using Done = Result<void>;

std::unexpected<Error> fail_at(const Context& context, Position at, std::string_view message,
                               std::string help = {}) {
    return fail({.code = Errc::profile,
                 .message = toml::place(context.origin, at) + std::string(message),
                 .help = std::move(help)});
}

std::unexpected<Error> wrong_type(const Context& context, const Value& value, std::string_view path,
                                  std::string_view expected) {
    return fail_at(context, value.at,
                   text::format("'{}' must be {}, not {}", path, expected, value.type_name()));
}

// An error of values.hpp, with the place and the key before it.
std::unexpected<Error> at_value(const Context& context, const Value& value, std::string_view path,
                                const Error& error) {
    return fail_at(context, value.at, text::format("'{}': {}", path, error.message), error.help);
}

// --- scalars ------------------------------------------------------------------------------------

// Nothing that goes to a system call may hold a NUL: it would end there.
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

// Stores what `parse` makes of a string.
template <class T, class Parse>
Done read_word(const Context& context, const Value& value, std::string_view path, Parse parse,
               T& into) {
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

// Integers and text mean the same here: `threadgroup_memory = 32768` and `= "32 KiB"`.
template <class T, class Parse>
Done read_word_or_integer(const Context& context, const Value& value, std::string_view path,
                          Parse parse, T& into) {
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

template <class T> Done store_list(Result<std::vector<T>> list, std::vector<T>& into) {
    if (!list) {
        return fail(std::move(list.error()));
    }
    into = std::move(*list);
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

// --- the table of keys --------------------------------------------------------------------------

enum class Shape : std::uint8_t { value, table, tables };

struct Key {
    std::string_view path;
    Shape shape = Shape::value;
    Done (*read)(Context&, const Value&, std::string_view path) = nullptr; ///< Shape::value
    void (*begin)(Profile&) = nullptr; ///< before a table, or each table of an array, is read
};

using Path = std::string_view;

template <std::string Record::* member>
Done read_record_text(Context& c, const Value& v, Path path) {
    return store(read_string(c, v, path), c.profile.workload.records.back().*member);
}

template <std::optional<std::string> Shim::* member>
Done read_shim_checksum(Context& c, const Value& v, Path path) {
    return read_checksum(c, v, path, c.profile.shim.*member);
}

// The schema itself is checked before everything else.
Done read_nothing(Context& /*c*/, const Value& /*v*/, Path /*path*/) {
    return {};
}

constexpr std::array kTopKeys{
    Key{.path = "schema", .read = read_nothing},
    Key{.path = "description",
        .read = [](Context& c, const Value& v,
                   Path path) { return store(read_string(c, v, path), c.profile.description); }},
};

constexpr std::array kMetalKeys{
    Key{.path = "metal", .shape = Shape::table},
    Key{.path = "metal.apple_family",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word_or_integer(c, v, path, family_of, c.profile.metal.apple_family);
            }},
    Key{.path = "metal.threadgroup_memory",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_limit(c, v, path, parse_threadgroup_memory,
                                  c.profile.metal.threadgroup_memory);
            }},
    Key{.path = "metal.working_set",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_limit(c, v, path, parse_limit, c.profile.metal.working_set);
            }},
    Key{.path = "metal.never_above_host",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_boolean(c, v, path, c.profile.metal.never_above_host);
            }},
    Key{.path = "metal.hook",
        .read = [](Context& c, const Value& v,
                   Path path) { return read_word(c, v, path, parse_hook, c.profile.metal.hook); }},
};

constexpr std::array kShimKeys{
    Key{.path = "shim", .shape = Shape::table},
    Key{.path = "shim.path",
        .read = [](Context& c, const Value& v,
                   Path path) { return store(read_path(c, v, path), c.profile.shim.path); }},
    Key{.path = "shim.sha256", .shape = Shape::table},
    Key{.path = "shim.sha256.arm64", .read = read_shim_checksum<&Shim::sha256_arm64>},
    Key{.path = "shim.sha256.arm64e", .read = read_shim_checksum<&Shim::sha256_arm64e>},
    Key{.path = "shim.sha256.x86_64", .read = read_shim_checksum<&Shim::sha256_x86_64>},
};

constexpr std::array kTargetKeys{
    Key{.path = "target",
        .shape = Shape::table,
        .begin = [](Profile& profile) { profile.target.emplace(); }},
    Key{.path = "target.program",
        .read = [](Context& c, const Value& v,
                   Path path) { return read_program(c, v, path, c.profile.target->program); }},
    Key{.path = "target.arguments",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_strings(c, v, path), c.profile.target->arguments);
            }},
    Key{.path = "target.directory",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store(read_path(c, v, path), c.profile.target->directory);
            }},
    Key{.path = "target.argv0",
        .read = [](Context& c, const Value& v,
                   Path path) { return store(read_string(c, v, path), c.profile.target->argv0); }},
};

constexpr std::array kEnvironmentKeys{
    Key{.path = "environment", .shape = Shape::table},
    Key{.path = "environment.set",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_variables(c, v, path), c.profile.environment.set);
            }},
    Key{.path = "environment.unset",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_variable_names(c, v, path), c.profile.environment.unset);
            }},
};

constexpr std::array kPolicyKeys{
    Key{.path = "policy", .shape = Shape::table},
    Key{.path = "policy.on_refusal",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word(c, v, path, parse_on_refusal, c.profile.policy.on_refusal);
            }},
    Key{.path = "policy.when_uncertain",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word(c, v, path, parse_when_uncertain, c.profile.policy.when_uncertain);
            }},
    Key{.path = "policy.children",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word(c, v, path, parse_children, c.profile.policy.children);
            }},
    Key{.path = "policy.where",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word(c, v, path, parse_where, c.profile.policy.where);
            }},
};

constexpr std::array kMatchKeys{
    Key{.path = "match", .shape = Shape::table},
    Key{.path = "match.programs",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_name_patterns(c, v, path), c.profile.match.programs);
            }},
    Key{.path = "match.arguments",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_patterns(c, v, path), c.profile.match.arguments);
            }},
    Key{.path = "match.libraries",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_name_patterns(c, v, path), c.profile.match.libraries);
            }},
};

constexpr std::array kWorkloadKeys{
    Key{.path = "workload", .shape = Shape::table},
    Key{.path = "workload.status",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word(c, v, path, parse_workload_status, c.profile.workload.status);
            }},
    Key{.path = "workload.reason",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store(read_string(c, v, path), c.profile.workload.reason);
            }},
    Key{.path = "workload.record",
        .shape = Shape::tables,
        .begin = [](Profile& profile) { profile.workload.records.emplace_back(); }},
    Key{.path = "workload.record.chip", .read = read_record_text<&Record::chip>},
    Key{.path = "workload.record.host_os", .read = read_record_text<&Record::host_os>},
    Key{.path = "workload.record.guest_os", .read = read_record_text<&Record::guest_os>},
    Key{.path = "workload.record.build", .read = read_record_text<&Record::build>},
    Key{.path = "workload.record.workload", .read = read_record_text<&Record::workload>},
    Key{.path = "workload.record.stock", .read = read_record_text<&Record::stock>},
    Key{.path = "workload.record.shim", .read = read_record_text<&Record::shim>},
    Key{.path = "workload.record.host", .read = read_record_text<&Record::host>},
    Key{.path = "workload.record.speed_up", .read = read_record_text<&Record::speed_up>},
    Key{.path = "workload.record.share_of_host", .read = read_record_text<&Record::share_of_host>},
    Key{.path = "workload.record.source", .read = read_record_text<&Record::source>},
    Key{.path = "workload.record.runs", .read = read_runs},
    Key{.path = "workload.record.apple_family", .read = read_record_family},
    Key{.path = "workload.record.threadgroup_memory", .read = read_record_memory},
};

constexpr std::array kQuirkKeys{
    Key{.path = "quirk",
        .shape = Shape::tables,
        .begin = [](Profile& profile) { profile.quirks.emplace_back(); }},
    Key{.path = "quirk.guest_os", .read = read_guest_os},
    Key{.path = "quirk.level",
        .read =
            [](Context& c, const Value& v, Path path) {
                return read_word(c, v, path, parse_quirk_level, c.profile.quirks.back().level);
            }},
    Key{.path = "quirk.set",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store_list(read_variables(c, v, path), c.profile.quirks.back().set);
            }},
    Key{.path = "quirk.note",
        .read =
            [](Context& c, const Value& v, Path path) {
                return store(read_string(c, v, path), c.profile.quirks.back().note);
            }},
};

template <std::size_t... N> constexpr auto join(const std::array<Key, N>&... parts) {
    std::array<Key, (N + ...)> all;
    std::size_t next = 0;
    const auto append = [&](const auto& part) {
        for (const Key& key : part) {
            all.at(next++) = key;
        }
    };
    (append(parts), ...);
    return all;
}

constexpr std::array kKeys = join(kTopKeys, kMetalKeys, kShimKeys, kTargetKeys, kEnvironmentKeys,
                                  kPolicyKeys, kMatchKeys, kWorkloadKeys, kQuirkKeys);

constexpr auto kPaths = [] {
    std::array<std::string_view, kKeys.size()> paths;
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
        paths.at(i) = kKeys.at(i).path;
    }
    return paths;
}();

// --- the walk -----------------------------------------------------------------------------------

std::string_view last_part(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string_view folder_part(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

// A key beside the unknown one is likelier meant than one elsewhere; then the right key in the
// wrong table; then any.
std::string_view similar_key(std::string_view path, std::string_view table, std::string_view name) {
    std::vector<std::string_view> siblings;
    for (const std::string_view known : kPaths) {
        if (folder_part(known) == table) {
            siblings.push_back(last_part(known));
        }
    }
    const std::string_view sibling = text::nearest(name, siblings);
    for (const std::string_view known : kPaths) {
        if (!sibling.empty() && folder_part(known) == table && last_part(known) == sibling) {
            return known;
        }
    }
    const auto moved = std::ranges::find(kPaths, name, last_part);
    return moved != kPaths.end() ? *moved : text::nearest(path, kPaths);
}

std::unexpected<Error> unknown_key(const Context& context, const Entry& entry,
                                   std::string_view path, std::string_view table) {
    const std::string_view similar = similar_key(path, table, entry.key);
    return fail_at(
        context, entry.key_at, text::format("unknown key {}", text::quote(path)),
        similar.empty() ? "" : text::format("a key with a similar name exists: '{}'", similar));
}

Done read_table(Context& context, const Table& table, std::string_view path);

Done read_tables(Context& context, const Value& value, const Key& key) {
    const Array* array = value.array();
    if (array == nullptr) {
        return wrong_type(context, value, key.path, "an array of tables");
    }
    for (const Value& element : *array) {
        if (element.table() == nullptr) {
            return wrong_type(context, element, key.path, "an array of tables");
        }
        key.begin(context.profile);
        if (Done done = read_table(context, *element.table(), key.path); !done) {
            return done;
        }
        if (key.path == "quirk" && element.table()->find("guest_os") == nullptr) {
            return fail_at(context, element.at, "missing key 'quirk.guest_os'");
        }
    }
    return {};
}

Done read_entry(Context& context, const Entry& entry, const Key& key) {
    switch (key.shape) {
    case Shape::value:
        return key.read(context, entry.value, key.path);
    case Shape::table:
        if (entry.value.table() == nullptr) {
            return wrong_type(context, entry.value, key.path, "a table");
        }
        if (key.begin != nullptr) {
            key.begin(context.profile);
        }
        return read_table(context, *entry.value.table(), key.path);
    case Shape::tables:
        return read_tables(context, entry.value, key);
    }
    return {};
}

Done read_table(Context& context, const Table& table, std::string_view path) {
    std::string full;
    for (const Entry& entry : table.entries) {
        full.assign(path);
        full += path.empty() ? "" : ".";
        // A quoted key may hold a dot that parts nothing.
        const bool dotted = entry.key.find('.') != std::string::npos;
        full += dotted ? text::basic_string(entry.key) : entry.key;
        const auto key = std::ranges::find(kKeys, std::string_view(full), &Key::path);
        if (key == kKeys.end()) {
            return unknown_key(context, entry, full, path);
        }
        if (Done done = read_entry(context, entry, *key); !done) {
            return done;
        }
    }
    return {};
}

// Before anything else: a file of another schema may well have keys that are unknown here.
Done check_schema(const Context& context, const Table& document) {
    const Value* schema = document.find("schema");
    if (schema == nullptr) {
        return fail_at(context, {.line = 1, .column = 1}, "missing key 'schema'",
                       "begin the profile with 'schema = 1'");
    }
    const std::int64_t* number = schema->integer();
    if (number == nullptr) {
        return wrong_type(context, *schema, "schema", "an integer");
    }
    if (*number != kSchema) {
        return fail_at(context, schema->at,
                       text::format("schema {} is not known: this metalrun reads schema {}",
                                    *number, kSchema));
    }
    return {};
}

Done check_stock_family(const Context& context) {
    const std::optional<Family>& family = context.profile.metal.apple_family;
    if (family && family->kind == Family::Kind::stock && !context.limit_key.empty()) {
        return fail_at(context, context.limit_at,
                       text::format("'{}' cannot be raised while 'metal.apple_family' is 'stock'",
                                    context.limit_key),
                       "a stock profile starts the target without the shim: remove the limit");
    }
    return {};
}

std::string name_of(std::string_view origin) {
    const std::size_t slash = origin.rfind('/');
    std::string_view name = slash == std::string_view::npos ? origin : origin.substr(slash + 1);
    if (name.size() > kEnding.size() && name.ends_with(kEnding)) {
        name.remove_suffix(kEnding.size());
    }
    return std::string(name);
}

} // namespace

std::span<const std::string_view> known_keys() {
    return kPaths;
}

Result<Profile> parse_profile(std::string_view toml, const std::string& origin,
                              const std::string& folder) {
    if (toml.size() > kLargestProfileFile) {
        return fail(
            {.code = Errc::profile,
             .message = text::format("{}: a profile of {} bytes is above the limit of {}",
                                     text::escape(origin), toml.size(), kLargestProfileFile)});
    }
    const Result<Table> document = toml::parse(toml, origin, Errc::profile);
    if (!document) {
        return fail(document.error());
    }
    Context context{
        .origin = origin, .folder = folder, .profile = {}, .limit_at = {}, .limit_key = {}};
    context.profile.name = name_of(origin);
    context.profile.origin = origin;
    if (Done done = check_schema(context, *document); !done) {
        return fail(std::move(done.error()));
    }
    if (Done done = read_table(context, *document, ""); !done) {
        return fail(std::move(done.error()));
    }
    if (Done done = check_stock_family(context); !done) {
        return fail(std::move(done.error()));
    }
    return std::move(context.profile);
}

} // namespace metalrun::profile
