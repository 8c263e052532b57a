// SPDX-License-Identifier: MIT
//
// Any bytes as XML entitlements.
#include "der_writer.hpp"
#include "fuzz_input.hpp"
#include "macho/entitlements.hpp"

#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace metalrun;
    using tests::require;
    const Bytes bytes = tests::input_bytes(data, size);
    const auto entries = macho::parse_xml_entitlements(bytes);
    std::vector<std::byte> padded(bytes.begin(), bytes.end());
    padded.resize(size + 3);
    require(entries == macho::parse_xml_entitlements(padded),
            "zeros behind the list do not matter");
    if (!entries) {
        return 0;
    }
    require(entries->size() <= macho::kMostEntitlements, "entitlements are capped");
    for (const macho::Entitlement& entry : *entries) {
        require(entry.kind != macho::Entitlement::Kind::yes ||
                    as_text(bytes).find("<true") != std::string_view::npos,
                "only a <true/> grants anything");
    }
    require(tests::survives_writing(*entries), "as DER the list says the same");
    return 0;
}
