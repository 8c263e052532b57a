// SPDX-License-Identifier: MIT
//
// Any bytes as DER entitlements, and as values of DER, which are values of BER too.
#include "der_writer.hpp"
#include "fuzz_input.hpp"
#include "macho/der.hpp"
#include "macho/entitlements.hpp"

#include <algorithm>

namespace {

using namespace metalrun;
using tests::require;

void require_elements(Bytes bytes) {
    macho::ElementReader der(bytes, macho::Encoding::der);
    macho::ElementReader ber(bytes, macho::Encoding::ber);
    Bytes rest = bytes;
    while (!der.at_end()) {
        const auto element = der.next();
        if (!element) {
            return;
        }
        const auto same = ber.next();
        require(same && same->tag == element->tag &&
                    same->content.data() == element->content.data() &&
                    same->content.size() == element->content.size(),
                "what is DER is BER and means the same");
        const std::string again = tests::der_value(element->tag, as_text(element->content));
        require(as_text(rest).starts_with(again), "a value has one form in DER");
        rest = rest.subspan(again.size());
    }
    require(rest.empty() && ber.at_end(), "all bytes belong to a value");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = tests::input_bytes(data, size);
    require_elements(bytes);
    const auto entries = macho::parse_der_entitlements(bytes);
    require(entries == macho::parse_der_entitlements(bytes), "reading again gives the same");
    if (!entries) {
        return 0;
    }
    require(entries->size() <= macho::kMostEntitlements, "entitlements are capped");
    const bool grants = std::ranges::any_of(*entries, [](const macho::Entitlement& entry) {
        return entry.kind == macho::Entitlement::Kind::yes;
    });
    require(!grants || as_text(bytes).find("\x01\x01\xff") != std::string_view::npos,
            "only a boolean true grants anything");
    require(tests::survives_writing(*entries), "written again the list says the same");
    return 0;
}
