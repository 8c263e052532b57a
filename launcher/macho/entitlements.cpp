// SPDX-License-Identifier: MIT
#include "macho/entitlements.hpp"

#include "macho/der.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace metalrun::macho {

namespace {

using Kind = Entitlement::Kind;

constexpr std::uint8_t kDerTrue = 0xff;
constexpr std::size_t kLongestInteger = 8;

std::expected<Entitlement, Malformed> der_value(std::string key, const Element& value,
                                                unsigned depth);

std::string integer_text(Bytes content) {
    if (content.empty() || content.size() > kLongestInteger) {
        return "integer";
    }
    const bool is_negative = (std::to_integer<unsigned>(content.front()) & 0x80U) != 0;
    std::uint64_t value = is_negative ? ~std::uint64_t{0} : 0;
    for (const std::byte byte : content) {
        value = value << 8U | std::to_integer<std::uint64_t>(byte);
    }
    return is_negative ? text::format("-{}", ~value + 1) : text::format("{}", value);
}

// A sequence of a key and its value.
std::expected<Entitlement, Malformed> der_pair(const Element& pair, unsigned depth) {
    if (pair.tag != kTagSequence) {
        return malformed(text::format("an entry of the DER entitlements has tag {:#x}, {:#x} was "
                                      "expected",
                                      pair.tag, kTagSequence));
    }
    ElementReader reader(pair.content, Encoding::der);
    const auto key = reader.next(kTagUtf8String);
    const auto value = key ? reader.next() : std::nullopt;
    if (!value || !reader.at_end()) {
        return malformed("an entry of the DER entitlements is not a key and a value");
    }
    return der_value(std::string(as_text(key->content)), *value, depth);
}

// Every entry of a dictionary is looked at, however deep, so that all of it is known to be DER.
std::expected<EntitlementList, Malformed> der_dictionary(Bytes content, unsigned depth) {
    ElementReader reader(content, Encoding::der);
    EntitlementList entries;
    while (!reader.at_end()) {
        const auto pair = reader.next();
        if (!pair) {
            return malformed(
                text::format("the DER entitlements are cut short in entry {}", entries.size()));
        }
        auto entry = der_pair(*pair, depth);
        if (!entry) {
            return std::unexpected(std::move(entry.error()));
        }
        if (entries.size() == kMostEntitlements) {
            return malformed(
                text::format("more than {} entitlements are not believed", kMostEntitlements));
        }
        entries.push_back(std::move(*entry));
    }
    return entries;
}

std::expected<Entitlement, Malformed> der_array(std::string key, Bytes content, unsigned depth) {
    ElementReader reader(content, Encoding::der);
    while (!reader.at_end()) {
        const auto element = reader.next();
        if (!element) {
            return malformed(
                text::format("the array of the DER entitlement {} is cut short", text::quote(key)));
        }
        if (auto value = der_value({}, *element, depth); !value) {
            return std::unexpected(std::move(value.error()));
        }
    }
    return Entitlement{.key = std::move(key), .kind = Kind::other, .text = "array"};
}

Entitlement der_boolean(std::string key, Bytes content) {
    if (content.size() == 1 && content.front() == std::byte{kDerTrue}) {
        return {.key = std::move(key), .kind = Kind::yes, .text = "true"};
    }
    if (content.size() == 1 && content.front() == std::byte{0}) {
        return {.key = std::move(key), .kind = Kind::no, .text = "false"};
    }
    return {.key = std::move(key), .kind = Kind::other, .text = "boolean that is not DER"};
}

std::expected<Entitlement, Malformed> der_value(std::string key, const Element& value,
                                                unsigned depth) {
    if (depth > kDeepestEntitlements) {
        return malformed(text::format("the DER entitlements are nested more than {} deep",
                                      kDeepestEntitlements));
    }
    switch (value.tag) {
    case kTagBoolean:
        return der_boolean(std::move(key), value.content);
    case kTagInteger:
        return Entitlement{
            .key = std::move(key), .kind = Kind::integer, .text = integer_text(value.content)};
    case kTagUtf8String:
        return Entitlement{
            .key = std::move(key), .kind = Kind::text, .text = std::string(as_text(value.content))};
    case kTagSequence:
        return der_array(std::move(key), value.content, depth + 1);
    case kTagSet:
    case kTagContext16: {
        if (auto entries = der_dictionary(value.content, depth + 1); !entries) {
            return std::unexpected(std::move(entries.error()));
        }
        return Entitlement{.key = std::move(key), .kind = Kind::other, .text = "dictionary"};
    }
    case kTagOctetString:
        return Entitlement{.key = std::move(key), .kind = Kind::other, .text = "data"};
    default:
        return malformed(text::format("the DER entitlement {} has a value of tag {:#x}",
                                      text::quote(key), value.tag));
    }
}

} // namespace

const Entitlement* Entitlements::find(std::string_view key) const {
    const auto found = std::ranges::find(entries, key, &Entitlement::key);
    return found == entries.end() ? nullptr : &*found;
}

bool Entitlements::is_true(std::string_view key) const {
    // A key given twice counts only if both say so.
    return find(key) != nullptr && std::ranges::all_of(entries, [&](const Entitlement& entry) {
               return entry.key != key || entry.kind == Kind::yes;
           });
}

std::expected<EntitlementList, Malformed> parse_xml_entitlements(Bytes xml) {
    return parse_property_list(xml, "the XML entitlements");
}

std::expected<EntitlementList, Malformed> parse_der_entitlements(Bytes der) {
    ElementReader outer(der, Encoding::der);
    const auto root = outer.next();
    if (!root || !outer.at_end()) {
        return malformed(
            text::format("the DER entitlements are not one value of {} bytes", der.size()));
    }
    if (root->tag == kTagSet) {
        return der_dictionary(root->content, 1);
    }
    ElementReader inner(root->content, Encoding::der);
    const auto version = inner.next(kTagInteger);
    const auto dictionary = version ? inner.next(kTagContext16) : std::nullopt;
    if (root->tag != kTagApplication16 || !dictionary || !inner.at_end()) {
        return malformed("the DER entitlements do not hold a version and a dictionary");
    }
    if (integer_text(version->content) != "1") {
        return malformed(text::format("the DER entitlements have version {}, 1 was expected",
                                      integer_text(version->content)));
    }
    return der_dictionary(dictionary->content, 1);
}

} // namespace metalrun::macho
