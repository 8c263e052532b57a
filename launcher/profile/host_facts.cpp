// SPDX-License-Identifier: MIT
#include "profile/host_facts.hpp"

#include "profile/toml.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::profile {

namespace {

constexpr std::array<std::string_view, 10> kKeys{
    "os",  "build",          "architecture", "chip",         "guest",
    "sip", "boot_arguments", "translated",   "metal_device", "memory"};

std::unexpected<Error> wrong(const std::string& origin, toml::Position at, const std::string& what,
                             std::string help = {}) {
    return fail({.code = Errc::usage,
                 .message = text::concat(toml::place(origin, at), what),
                 .help = std::move(help)});
}

Tri to_tri(bool value) {
    return value ? Tri::yes : Tri::no;
}

// One entry into the facts; the name of the wanted type if the value has another, else empty.
std::string_view take(const toml::Entry& entry, HostFacts& facts) {
    const toml::Value& value = entry.value;
    const auto text = [&](std::string& into) -> std::string_view {
        if (value.string() == nullptr) {
            return "a string";
        }
        into = *value.string();
        return {};
    };
    const auto flag = [&](Tri& into) -> std::string_view {
        if (value.boolean() == nullptr) {
            return "true or false";
        }
        into = to_tri(*value.boolean());
        return {};
    };
    if (entry.key == "guest" || entry.key == "translated") {
        return flag(entry.key == "guest" ? facts.guest : facts.translated);
    }
    if (entry.key == "memory") {
        if (value.integer() == nullptr || *value.integer() <= 0) {
            return "a number of bytes";
        }
        facts.memory_bytes = static_cast<std::uint64_t>(*value.integer());
        return {};
    }
    if (entry.key == "sip") {
        const std::string word = value.string() != nullptr ? *value.string() : std::string{};
        if (word != "on" && word != "off" && word != "unknown") {
            return R"("on", "off" or "unknown")";
        }
        facts.sip = word == "on" ? Tri::yes : word == "off" ? Tri::no : Tri::unknown;
        return {};
    }
    if (entry.key == "boot_arguments") {
        if (value.array() == nullptr) {
            return "an array of strings";
        }
        for (const toml::Value& argument : *value.array()) {
            if (argument.string() == nullptr) {
                return "an array of strings";
            }
            facts.boot_arguments.push_back(*argument.string());
        }
        return {};
    }
    return text(entry.key == "os"             ? facts.os
                : entry.key == "build"        ? facts.build
                : entry.key == "architecture" ? facts.architecture
                : entry.key == "chip"         ? facts.chip
                                              : facts.metal_device);
}

} // namespace

Result<HostFacts> parse_host_facts(std::string_view toml_text, const std::string& origin) {
    auto table = toml::parse(toml_text, origin, Errc::usage);
    if (!table) {
        return fail(std::move(table.error()));
    }
    HostFacts facts{.source = HostFacts::Source::file, .kernel = HostFacts::Kernel::darwin};
    for (const toml::Entry& entry : table->entries) {
        const bool known = std::find(kKeys.begin(), kKeys.end(), entry.key) != kKeys.end();
        if (!known) {
            const std::string_view near = text::nearest(entry.key, kKeys);
            return wrong(
                origin, entry.key_at, text::format("unknown key {}", text::quote(entry.key)),
                near.empty() ? std::string{}
                             : text::format("a key with a similar name exists: '{}'", near));
        }
        if (const std::string_view wanted = take(entry, facts); !wanted.empty()) {
            return wrong(origin, entry.value.at,
                         text::format("'{}' is {}, expected {}", entry.key, entry.value.type_name(),
                                      wanted));
        }
    }
    return facts;
}

} // namespace metalrun::profile
