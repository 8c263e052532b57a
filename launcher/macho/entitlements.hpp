// SPDX-License-Identifier: MIT
//
// Entitlements of a code signature: slot 7 (DER) when it parses, else slot 5 (an XML property
// list). Only a boolean true grants anything.
#pragma once

#include "macho/property_list.hpp"
#include "macho/source.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::macho {

using Entitlement = PropertyEntry;

enum class EntitlementSource : std::uint8_t { none, xml, der };

struct Entitlements {
    EntitlementSource source = EntitlementSource::none;
    std::vector<Entitlement> entries; ///< in the file's order
    bool disagree = false;            ///< XML and DER are both there and do not say the same
    bool has_xml = false;             ///< slot 5 is there
    bool has_der = false;             ///< slot 7 is there
    std::string xml_problem; ///< why what is there cannot be read; empty: it can, or is not there
    std::string der_problem;

    /// True if the key is there with a boolean true.
    [[nodiscard]] bool is_true(std::string_view key) const;
    [[nodiscard]] const Entitlement* find(std::string_view key) const;

    bool operator==(const Entitlements&) const = default;
};

inline constexpr std::size_t kMostEntitlements = kMostProperties;
inline constexpr unsigned kDeepestEntitlements = 32;

using EntitlementList = PropertyEntries;

/// `xml` is the blob's content, without its header. A document whose root is not a dictionary, a
/// binary property list, and one that declares entities are errors.
[[nodiscard]] std::expected<EntitlementList, Malformed> parse_xml_entitlements(Bytes xml);

/// `der` is the blob's content, without its header: [APPLICATION 16] { INTEGER 1, [16] { SEQUENCE
/// { UTF8String key, value } … } }, or the older bare SET of such sequences.
[[nodiscard]] std::expected<EntitlementList, Malformed> parse_der_entitlements(Bytes der);

} // namespace metalrun::macho
