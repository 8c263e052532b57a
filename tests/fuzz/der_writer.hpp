// SPDX-License-Identifier: MIT
//
// Writes ASN.1 values for the fuzz targets (ITU-T X.690), to compare what is read of them.
#pragma once

#include "macho/der.hpp"
#include "macho/entitlements.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace metalrun::tests {

inline std::string der_value(std::uint8_t tag, std::string_view content) {
    std::string length;
    for (std::size_t rest = content.size(); rest != 0; rest >>= 8U) {
        length.insert(length.begin(), static_cast<char>(rest));
    }
    if (content.size() < 0x80) {
        length = std::string(1, static_cast<char>(content.size()));
    } else {
        length.insert(length.begin(), static_cast<char>(0x80U | length.size()));
    }
    return std::string(1, static_cast<char>(tag)) + length + std::string(content);
}

/// Booleans and texts as DER entitlements; nothing if there is an entry of another kind.
inline std::optional<std::string> write_entitlements(const macho::EntitlementList& entries) {
    using Kind = macho::Entitlement::Kind;
    std::string pairs;
    for (const macho::Entitlement& entry : entries) {
        std::string value;
        if (entry.kind == Kind::yes || entry.kind == Kind::no) {
            value =
                der_value(macho::kTagBoolean, entry.kind == Kind::yes ? std::string_view{"\xff"}
                                                                      : std::string_view{"\0", 1});
        } else if (entry.kind == Kind::text) {
            value = der_value(macho::kTagUtf8String, entry.text);
        } else {
            return std::nullopt;
        }
        pairs +=
            der_value(macho::kTagSequence, der_value(macho::kTagUtf8String, entry.key) + value);
    }
    return der_value(macho::kTagApplication16,
                     der_value(macho::kTagInteger, "\1") + der_value(macho::kTagContext16, pairs));
}

/// What was read holds whatever form it is written in.
inline bool survives_writing(const macho::EntitlementList& entries) {
    const auto written = write_entitlements(entries);
    if (!written) {
        return true;
    }
    const auto read = macho::parse_der_entitlements(std::as_bytes(std::span(*written)));
    return read && *read == entries;
}

} // namespace metalrun::tests
