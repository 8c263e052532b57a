// SPDX-License-Identifier: MIT
//
// DER values and the two forms of entitlements (ITU-T X.690), for tests.
#pragma once

#include "macho_builder.hpp"

#include <string>

namespace metalrun::tests {

inline std::string der(int tag, const std::string& content) {
    std::string out(1, static_cast<char>(tag));
    if (content.size() < 0x80) {
        out += static_cast<char>(content.size());
    } else {
        out += '\x82';
        put_be(out, content.size(), 2);
    }
    return out + content;
}

inline std::string pair(const std::string& key, const std::string& value) {
    return der(0x30, der(0x0c, key) + value);
}

inline std::string der_document(const std::string& pairs) {
    return der(0x70, std::string("\x02\x01\x01", 3) + der(0xb0, pairs));
}

inline const std::string kTrue("\x01\x01\xff", 3);
inline const std::string kFalse("\x01\x01\x00", 3);

inline std::string xml_document(const std::string& content) {
    return R"(<?xml version="1.0"?><plist version="1.0"><dict>)" + content + "</dict></plist>";
}

} // namespace metalrun::tests
