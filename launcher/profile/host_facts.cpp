// SPDX-License-Identifier: MIT
#include "profile/host_facts.hpp"

#include "profile/toml.hpp"
#include "profile/values.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::profile {

namespace {

std::unexpected<Error> wrong(const std::string& origin, toml::Position at, const std::string& what,
                             std::string help = {}) {
    return fail({.code = Errc::usage,
                 .message = text::concat(toml::place(origin, at), what),
                 .help = std::move(help)});
}

Tri to_tri(bool value) {
    return value ? Tri::yes : Tri::no;
}

// Each takes one value into the facts, and answers the wanted type if the value has another.
using Wanted = std::string_view;

Wanted take_text(const toml::Value& value, std::string& into) {
    if (value.string() == nullptr) {
        return "a string";
    }
    into = *value.string();
    return {};
}

Wanted take_version(const toml::Value& value, std::string& into) {
    if (value.string() == nullptr || !is_version(*value.string())) {
        return "a version such as \"15.5\"";
    }
    into = *value.string();
    return {};
}

Wanted take_flag(const toml::Value& value, Tri& into) {
    if (value.boolean() == nullptr) {
        return "true or false";
    }
    into = to_tri(*value.boolean());
    return {};
}

Wanted take_sip(const toml::Value& value, Tri& into) {
    const std::string word = value.string() != nullptr ? *value.string() : std::string{};
    if (word != "on" && word != "off" && word != "unknown") {
        return R"("on", "off" or "unknown")";
    }
    into = word == "on" ? Tri::yes : word == "off" ? Tri::no : Tri::unknown;
    return {};
}

Wanted take_memory(const toml::Value& value, std::optional<std::uint64_t>& into) {
    if (value.integer() == nullptr || *value.integer() <= 0) {
        return "a number of bytes";
    }
    into = static_cast<std::uint64_t>(*value.integer());
    return {};
}

Wanted take_strings(const toml::Value& value, std::vector<std::string>& into) {
    constexpr Wanted kStrings = "an array of strings";
    if (value.array() == nullptr) {
        return kStrings;
    }
    for (const toml::Value& element : *value.array()) {
        if (element.string() == nullptr) {
            return kStrings;
        }
        into.push_back(*element.string());
    }
    return {};
}

struct Key {
    std::string_view name;
    Wanted (*take)(const toml::Value& value, HostFacts& facts);
};

constexpr std::array<Key, 10> kKeys{{
    {"os", [](const toml::Value& v, HostFacts& f) { return take_version(v, f.os); }},
    {"build", [](const toml::Value& v, HostFacts& f) { return take_text(v, f.build); }},
    {"architecture",
     [](const toml::Value& v, HostFacts& f) { return take_text(v, f.architecture); }},
    {"chip", [](const toml::Value& v, HostFacts& f) { return take_text(v, f.chip); }},
    {"guest", [](const toml::Value& v, HostFacts& f) { return take_flag(v, f.guest); }},
    {"sip", [](const toml::Value& v, HostFacts& f) { return take_sip(v, f.sip); }},
    {"boot_arguments",
     [](const toml::Value& v, HostFacts& f) { return take_strings(v, f.boot_arguments); }},
    {"translated", [](const toml::Value& v, HostFacts& f) { return take_flag(v, f.translated); }},
    {"metal_device",
     [](const toml::Value& v, HostFacts& f) { return take_text(v, f.metal_device); }},
    {"memory", [](const toml::Value& v, HostFacts& f) { return take_memory(v, f.memory_bytes); }},
}};

std::string nearest_key(std::string_view word) {
    std::array<std::string_view, kKeys.size()> names;
    std::transform(kKeys.begin(), kKeys.end(), names.begin(),
                   [](const Key& key) { return key.name; });
    const std::string_view near = text::nearest(word, names);
    return near.empty() ? std::string{}
                        : text::format("a key with a similar name exists: '{}'", near);
}

} // namespace

Result<HostFacts> parse_host_facts(std::string_view toml_text, const std::string& origin) {
    auto table = toml::parse(toml_text, origin, Errc::usage);
    if (!table) {
        return fail(std::move(table.error()));
    }
    HostFacts facts{.source = HostFacts::Source::file, .kernel = HostFacts::Kernel::darwin};
    for (const toml::Entry& entry : table->entries) {
        const auto* const key = std::find_if(
            kKeys.begin(), kKeys.end(), [&](const Key& known) { return known.name == entry.key; });
        if (key == kKeys.end()) {
            return wrong(origin, entry.key_at,
                         text::format("unknown key {}", text::quote(entry.key)),
                         nearest_key(entry.key));
        }
        if (const Wanted wanted = key->take(entry.value, facts); !wanted.empty()) {
            return wrong(origin, entry.value.at,
                         text::format("'{}' is {}, expected {}", entry.key, entry.value.type_name(),
                                      wanted));
        }
    }
    return facts;
}

} // namespace metalrun::profile
