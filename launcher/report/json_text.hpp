// SPDX-License-Identifier: MIT
//
// The parts of which all JSON that metalrun prints is made, by hand: the documents are small and
// their order is fixed.
#pragma once

#include "report/text.hpp"

#include <span>
#include <string>
#include <string_view>

namespace metalrun::report::json {

inline std::string string(std::string_view value) {
    return text::basic_string(value);
}

inline std::string string_or_null(std::string_view value) {
    return value.empty() ? "null" : string(value);
}

inline std::string boolean(bool value) {
    return value ? "true" : "false";
}

/// Of values that are JSON already.
inline std::string array(std::span<const std::string> values, std::string_view separator = ", ") {
    std::string out;
    for (const std::string& value : values) {
        out += text::concat(out.empty() ? "" : separator, value);
    }
    return text::concat("[", out, "]");
}

inline std::string strings(std::span<const std::string> values) {
    std::string out;
    for (const std::string& value : values) {
        out += text::concat(out.empty() ? "" : ", ", string(value));
    }
    return text::concat("[", out, "]");
}

/// Members one behind the other; the values are JSON already.
class Object {
public:
    Object& add(std::string_view key, const std::string& value) {
        out_ += text::concat(out_.empty() ? "" : ", ", string(key), ": ", value);
        return *this;
    }
    [[nodiscard]] std::string render() const { return text::concat("{", out_, "}"); }

private:
    std::string out_;
};

} // namespace metalrun::report::json
