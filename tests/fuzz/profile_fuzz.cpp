// SPDX-License-Identifier: MIT
//
// Any text as a profile.
#include "macho/bytes.hpp"
#include "profile/loader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = metalrun::as_text(std::as_bytes(std::span(data, size)));
    static_cast<void>(metalrun::profile::parse_profile(text, "fuzz.toml", "/"));
    return 0;
}
