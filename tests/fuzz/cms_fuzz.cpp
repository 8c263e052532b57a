// SPDX-License-Identifier: MIT
//
// Any bytes as a CMS signature. What can be read must read the same when its outer values are given
// the indefinite lengths of BER, as Apple's signatures have them.
#include "der_writer.hpp"
#include "fuzz_input.hpp"
#include "macho/cms.hpp"
#include "macho/der.hpp"

#include <string>

namespace {

using namespace metalrun;
using tests::require;

constexpr unsigned kRewrittenDepth = 8;
constexpr std::uint8_t kConstructed = 0x20;

std::string with_indefinite_lengths(Bytes content, unsigned depth);

std::string rewritten(const macho::Element& element, unsigned depth) {
    const std::string definite = tests::der_value(element.tag, as_text(element.content));
    if ((element.tag & kConstructed) == 0 || depth == kRewrittenDepth) {
        return definite;
    }
    macho::ElementReader reader(element.content, macho::Encoding::ber);
    while (!reader.at_end()) {
        const auto inner = reader.next();
        // No list of values, or one that would end too early.
        if (!inner || inner->tag == 0) {
            return definite;
        }
    }
    return std::string(1, static_cast<char>(element.tag)) + '\x80' +
           with_indefinite_lengths(element.content, depth + 1) + std::string(2, '\0');
}

std::string with_indefinite_lengths(Bytes content, unsigned depth) {
    std::string out;
    macho::ElementReader reader(content, macho::Encoding::ber);
    while (!reader.at_end()) {
        const auto element = reader.next();
        if (!element) {
            return out; // behind the first value there may be anything
        }
        out += rewritten(*element, depth);
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = tests::input_bytes(data, size);
    const auto facts = macho::parse_cms(bytes);
    require(facts == macho::parse_cms(bytes), "reading again gives the same");
    if (!facts) {
        return 0;
    }
    require(facts->message_digest.size() <= 2 * size, "the digest lies inside the signature");
    const std::string other = with_indefinite_lengths(bytes, 0);
    require(facts == macho::parse_cms(std::as_bytes(std::span(other))),
            "the form of lengths does not matter");
    return 0;
}
