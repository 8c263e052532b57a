// SPDX-License-Identifier: MIT
//
// The one fact of a CMS signature (RFC 5652) that a damaged program changes: the digest of the code
// directory that the signer put among the signed attributes. Neither the signature nor the trust
// in its signer is checked here.
#pragma once

#include "macho/source.hpp"
#include "system/digest.hpp"

#include <expected>
#include <string>

namespace metalrun::macho {

struct CmsFacts {
    DigestKind digest_kind = DigestKind::sha256;
    std::string message_digest; ///< hexadecimal digits

    bool operator==(const CmsFacts&) const = default;
};

/// `cms` is the blob's content, without its header: a ContentInfo with SignedData. The first
/// signer's attributes are read.
[[nodiscard]] std::expected<CmsFacts, Malformed> parse_cms(Bytes cms);

} // namespace metalrun::macho
