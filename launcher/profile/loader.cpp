// SPDX-License-Identifier: MIT
//
// The profile format, schema 1 (metalrun.toml(5)): one table of keys, each with the function that
// reads it. The document is walked in its own order, so that the first error in the file is the one
// that is told.
#include "profile/loader.hpp"

#include "profile/readers.hpp"
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
using toml::Table;

constexpr std::int64_t kSchema = 1;
constexpr std::string_view kEnding = ".toml";

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
