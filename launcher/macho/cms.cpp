// SPDX-License-Identifier: MIT
#include "macho/cms.hpp"

#include "macho/der.hpp"
#include "report/text.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace metalrun::macho {

namespace {

using namespace std::string_view_literals;

// Object identifiers as they are encoded.
constexpr auto kSignedData = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"sv;
constexpr auto kMessageDigest = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04"sv;
constexpr std::array<std::pair<std::string_view, DigestKind>, 4> kDigests{{
    {"\x2b\x0e\x03\x02\x1a"sv, DigestKind::sha1},
    {"\x60\x86\x48\x01\x65\x03\x04\x02\x01"sv, DigestKind::sha256},
    {"\x60\x86\x48\x01\x65\x03\x04\x02\x02"sv, DigestKind::sha384},
    {"\x60\x86\x48\x01\x65\x03\x04\x02\x03"sv, DigestKind::sha512},
}};

std::unexpected<Malformed> cut_short(std::string_view part) {
    return malformed(text::format("the CMS signature has no {} where one was expected", part));
}

// ContentInfo { signedData, [0] SignedData } → the content of SignedData.
std::optional<Bytes> signed_data(Bytes cms) {
    // Behind the ContentInfo there may be anything: the blob is not shortened to it.
    ElementReader outer(cms, Encoding::ber);
    const auto info = outer.next(kTagSequence);
    ElementReader inner(info ? info->content : Bytes{}, Encoding::ber);
    const auto type = inner.next(kTagObjectIdentifier);
    const auto wrapper = type ? inner.next(kTagContext0) : std::nullopt;
    if (!wrapper || as_text(type->content) != kSignedData) {
        return std::nullopt;
    }
    const auto data = ElementReader(wrapper->content, Encoding::ber).next(kTagSequence);
    return data ? std::optional(data->content) : std::nullopt;
}

// SignedData { version, digestAlgorithms, encapContentInfo, [0] certificates, [1] crls,
// signerInfos }: the last SET, which is the only one behind the content.
std::optional<Bytes> first_signer(Bytes data) {
    ElementReader reader(data, Encoding::ber);
    if (!reader.next(kTagInteger) || !reader.next(kTagSet) || !reader.next(kTagSequence)) {
        return std::nullopt;
    }
    while (!reader.at_end()) {
        const auto element = reader.next();
        if (!element) {
            return std::nullopt;
        }
        if (element->tag == kTagSet) {
            const auto signer = ElementReader(element->content, Encoding::ber).next(kTagSequence);
            return signer ? std::optional(signer->content) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<DigestKind> digest_kind(const Element& algorithm) {
    const auto identifier =
        ElementReader(algorithm.content, Encoding::ber).next(kTagObjectIdentifier);
    for (const auto& [encoded, kind] : kDigests) {
        if (identifier && as_text(identifier->content) == encoded) {
            return kind;
        }
    }
    return std::nullopt;
}

// Attribute { type, SET { value } }.
std::optional<std::string> message_digest(Bytes attributes) {
    ElementReader reader(attributes, Encoding::ber);
    while (!reader.at_end()) {
        const auto attribute = reader.next(kTagSequence);
        if (!attribute) {
            return std::nullopt;
        }
        ElementReader parts(attribute->content, Encoding::ber);
        const auto type = parts.next(kTagObjectIdentifier);
        const auto values = type ? parts.next(kTagSet) : std::nullopt;
        if (!values || as_text(type->content) != kMessageDigest) {
            continue;
        }
        const auto value = ElementReader(values->content, Encoding::ber).next(kTagOctetString);
        return value ? std::optional(hex(value->content)) : std::nullopt;
    }
    return std::nullopt;
}

} // namespace

std::expected<CmsFacts, Malformed> parse_cms(Bytes cms) {
    const auto data = signed_data(cms);
    if (!data) {
        return cut_short("signed data");
    }
    const auto signer = first_signer(*data);
    if (!signer) {
        return cut_short("signer");
    }
    // SignerInfo { version, sid, digestAlgorithm, [0] signedAttrs, … }.
    ElementReader reader(*signer, Encoding::ber);
    const bool has_head = reader.next(kTagInteger) && reader.next();
    const auto algorithm = has_head ? reader.next(kTagSequence) : std::nullopt;
    const auto kind = algorithm ? digest_kind(*algorithm) : std::nullopt;
    if (!kind) {
        return cut_short("known digest algorithm");
    }
    const auto attributes = reader.next(kTagContext0);
    const auto value = attributes ? message_digest(attributes->content) : std::nullopt;
    if (!value) {
        return cut_short("message digest");
    }
    // signatureAlgorithm, signature, [1] unsignedAttrs.
    if (!reader.next(kTagSequence) || !reader.next(kTagOctetString) ||
        !(reader.at_end() || reader.next())) {
        return cut_short("signature value");
    }
    return CmsFacts{.digest_kind = *kind, .message_digest = *value};
}

} // namespace metalrun::macho
