// SPDX-License-Identifier: MIT
//
// Any text as a file of host facts.
#include "fuzz_input.hpp"
#include "profile/host_facts.hpp"
#include "toml_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace metalrun;
    const std::string_view text = as_text(tests::input_bytes(data, size));
    const auto facts = profile::parse_host_facts(text, "fuzz.toml");
    if (!facts) {
        tests::require_place(facts.error(), Errc::usage, text);
        return 0;
    }
    tests::require(*facts == profile::parse_host_facts(text, "fuzz.toml"),
                   "reading again gives the same");
    tests::require(facts->source == HostFacts::Source::file, "host facts know their source");
    return 0;
}
