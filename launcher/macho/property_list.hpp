// SPDX-License-Identifier: MIT
//
// XML property lists (plist(5)): the entries of the root dictionary. property_list.cpp is the only
// user of pugixml.
#pragma once

#include "macho/source.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::macho {

struct PropertyEntry {
    enum class Kind : std::uint8_t { yes, no, text, integer, other };

    std::string key;
    Kind kind = Kind::other;
    std::string text; ///< "true", "false", a string, a number; else "array", "dictionary" …
    /// Levels::two: what a dictionary of the root has, or an array (without keys).
    std::vector<PropertyEntry> entries = {};

    bool operator==(const PropertyEntry&) const = default;
};

using PropertyEntries = std::vector<PropertyEntry>;

/// Of entries on both levels together.
inline constexpr std::size_t kMostProperties = 4096;

enum class Levels : std::uint8_t { one, two };

/// `xml` may end in zero bytes; nothing at all is an empty dictionary. `what` names them
/// in the message of an error, such as "the XML entitlements". Errors: a document that cannot be
/// parsed, declares entities, has another root than a dictionary or more than kMostProperties
/// entries; a binary property list.
[[nodiscard]] std::expected<PropertyEntries, Malformed>
parse_property_list(Bytes xml, std::string_view what, Levels levels = Levels::one);

} // namespace metalrun::macho
