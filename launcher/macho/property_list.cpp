// SPDX-License-Identifier: MIT
#include "macho/property_list.hpp"

#include "report/text.hpp"

#include <pugixml.hpp>
#include <utility>

namespace metalrun::macho {

namespace {

using Kind = PropertyEntry::Kind;

PropertyEntry value_of(std::string key, const pugi::xml_node& value) {
    const std::string_view name = value.name();
    const std::string text = value.text().get();
    if (name == "true") {
        return {.key = std::move(key), .kind = Kind::yes, .text = "true"};
    }
    if (name == "false") {
        return {.key = std::move(key), .kind = Kind::no, .text = "false"};
    }
    if (name == "string") {
        return {.key = std::move(key), .kind = Kind::text, .text = text};
    }
    if (name == "integer") {
        return {.key = std::move(key), .kind = Kind::integer, .text = text};
    }
    const std::string_view word = name == "dict" ? "dictionary" : name;
    return {.key = std::move(key), .kind = Kind::other, .text = std::string(word)};
}

// The root dictionary: within <plist>, or alone.
pugi::xml_node root_dictionary(const pugi::xml_document& document) {
    const pugi::xml_node root = document.document_element();
    if (std::string_view(root.name()) != "plist") {
        return root;
    }
    for (const pugi::xml_node& child : root.children()) {
        if (child.type() == pugi::node_element) {
            return child;
        }
    }
    return {};
}

Bytes without_trailing_zeros(Bytes bytes) {
    while (!bytes.empty() && bytes.back() == std::byte{0}) {
        bytes = bytes.first(bytes.size() - 1);
    }
    return bytes;
}

// Counts entries on both levels, so that a small cap holds for the whole list.
struct Reader {
    std::string_view what;
    Levels levels = Levels::one;
    std::size_t seen = 0;

    using Read = std::expected<void, Malformed>;

    Read read_dictionary(const pugi::xml_node& dictionary, PropertyEntries& into) {
        for (pugi::xml_node key = dictionary.first_child(); !key.empty();) {
            const pugi::xml_node value = key.next_sibling();
            if (std::string_view(key.name()) != "key" || value.type() != pugi::node_element) {
                return malformed(
                    text::format("entry {} of {} is not a key and a value", into.size(), what));
            }
            if (Read added = add(key.text().get(), value, into); !added) {
                return added;
            }
            key = value.next_sibling();
        }
        return {};
    }

    Read read_array(const pugi::xml_node& array, PropertyEntries& into) {
        for (const pugi::xml_node& value : array.children()) {
            if (Read added = add({}, value, into); !added) {
                return added;
            }
        }
        return {};
    }

    Read add(std::string key, const pugi::xml_node& value, PropertyEntries& into) {
        if (seen == kMostProperties) {
            return malformed(
                text::format("{} are more than {}, which are not believed", what, kMostProperties));
        }
        ++seen;
        PropertyEntry& entry = into.emplace_back(value_of(std::move(key), value));
        if (levels == Levels::one) {
            return {};
        }
        // What lies in them is not asked for.
        Reader below{.what = what, .levels = Levels::one, .seen = seen};
        const std::string_view name = value.name();
        Read read = name == "dict"    ? below.read_dictionary(value, entry.entries)
                    : name == "array" ? below.read_array(value, entry.entries)
                                      : Read();
        seen = below.seen;
        return read;
    }
};

} // namespace

std::expected<PropertyEntries, Malformed> parse_property_list(Bytes xml, std::string_view what,
                                                              Levels levels) {
    const Bytes content = without_trailing_zeros(xml);
    if (content.empty()) {
        return PropertyEntries{};
    }
    // The parser of macOS's kernel (libkern OSUnserializeXML) reads neither of these two.
    if (as_text(content).starts_with("bplist")) {
        return malformed(text::format("{} are a binary property list", what));
    }
    if (as_text(content).find("<!ENTITY") != std::string_view::npos) {
        return malformed(text::format("{} declare entities", what));
    }
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(
        content.data(), content.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) {
        return malformed(text::format("{} cannot be parsed at offset {}: {}", what, parsed.offset,
                                      parsed.description()));
    }
    const pugi::xml_node dictionary = root_dictionary(document);
    if (std::string_view(dictionary.name()) != "dict") {
        return malformed(text::format("{} are {}, a dictionary was expected", what,
                                      text::quote(dictionary.name())));
    }
    Reader reader{.what = what, .levels = levels};
    PropertyEntries entries;
    if (auto read = reader.read_dictionary(dictionary, entries); !read) {
        return std::unexpected(std::move(read.error()));
    }
    return entries;
}

} // namespace metalrun::macho
