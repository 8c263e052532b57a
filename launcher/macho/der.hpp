// SPDX-License-Identifier: MIT
//
// Walks ASN.1 values (ITU-T X.690), one after the other: DER as entitlements use it, and BER with
// indefinite lengths as CMS signatures use it. Only tags of one byte, which is all they have.
#pragma once

#include "macho/bytes.hpp"

#include <cstdint>
#include <optional>

namespace metalrun::macho {

enum class Encoding : std::uint8_t {
    der, ///< lengths in the shortest form
    ber, ///< any length, indefinite too
};

inline constexpr std::uint8_t kTagBoolean = 0x01;
inline constexpr std::uint8_t kTagInteger = 0x02;
inline constexpr std::uint8_t kTagOctetString = 0x04;
inline constexpr std::uint8_t kTagObjectIdentifier = 0x06;
inline constexpr std::uint8_t kTagUtf8String = 0x0c;
inline constexpr std::uint8_t kTagSequence = 0x30;
inline constexpr std::uint8_t kTagSet = 0x31;
inline constexpr std::uint8_t kTagApplication16 = 0x70;
inline constexpr std::uint8_t kTagContext0 = 0xa0;
inline constexpr std::uint8_t kTagContext16 = 0xb0;

struct Element {
    std::uint8_t tag = 0; ///< class, constructed bit and number, as encoded
    Bytes content;
};

class ElementReader {
public:
    ElementReader(Bytes bytes, Encoding encoding) : rest_(bytes), encoding_(encoding) {}

    [[nodiscard]] bool at_end() const { return rest_.empty(); }
    /// The next value; nothing if the bytes do not hold a whole one.
    [[nodiscard]] std::optional<Element> next();
    /// The next value if it has this tag.
    [[nodiscard]] std::optional<Element> next(std::uint8_t tag);

private:
    [[nodiscard]] std::optional<Element> read(unsigned depth);
    [[nodiscard]] std::optional<std::uint64_t> read_length(std::uint8_t first);
    [[nodiscard]] std::optional<Element> read_indefinite(std::uint8_t tag, unsigned depth);
    [[nodiscard]] std::optional<std::uint8_t> take();

    Bytes rest_;
    Encoding encoding_;
};

} // namespace metalrun::macho
