// SPDX-License-Identifier: MIT
//
// Any text as a profile.
#include "fuzz_input.hpp"
#include "profile/lint.hpp"
#include "profile/loader.hpp"
#include "toml_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace metalrun;
    const std::string_view text = as_text(tests::input_bytes(data, size));
    const auto flaws = profile::lint_text(text, "fuzz.toml", "/folder");
    for (const profile::Flaw& flaw : flaws) {
        tests::require_place({.code = Errc::profile,
                              .message = profile::with_place(flaw, "fuzz.toml"),
                              .help = flaw.help},
                             Errc::profile, text);
    }
    const auto profile = profile::parse_profile(text, "fuzz.toml", "/folder");
    if (!profile) {
        tests::require_place(profile.error(), Errc::profile, text);
        return 0;
    }
    tests::require(profile->origin == "fuzz.toml", "a profile knows its origin");
    return 0;
}
