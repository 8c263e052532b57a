// SPDX-License-Identifier: MIT
//
// Any bytes as the Info.plist of a bundle: what it leads to lies inside.
#include "fuzz_input.hpp"
#include "macho/property_list.hpp"
#include "system/fake.hpp"
#include "target/bundle.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace metalrun;
using tests::require;

const std::string kBundle = "/Applications/Example.app";

// The name that the list gives, if it can be read and gives one.
std::string named_in(Bytes list) {
    const auto entries = macho::parse_property_list(list, "the properties");
    if (!entries) {
        return {};
    }
    require(entries->size() <= macho::kMostProperties, "entries are capped");
    const auto entry =
        std::ranges::find(*entries, "CFBundleExecutable", &macho::PropertyEntry::key);
    return entry == entries->end() || entry->kind != macho::PropertyEntry::Kind::text
               ? std::string{}
               : entry->text;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = tests::input_bytes(data, size);
    FakeSystem system;
    system.add_program(kBundle + "/Contents/MacOS/Example", "program");
    system.add_program(kBundle + "/Contents/MacOS/Helper", "program");
    system.add_program(kBundle + "/Contents/outside", "program");
    system.add_file(kBundle + "/Contents/Info.plist", std::string(as_text(bytes)));
    const std::string name = named_in(bytes);
    const auto found = target::find_bundle_executable(system, kBundle);
    if (!found) {
        require(!name.empty(), "without a name in the list there is the bundle's own");
        return 0;
    }
    const bool is_named = name == "Helper";
    require(*found == kBundle + "/Contents/MacOS/" + (is_named ? "Helper" : "Example"),
            "the main executable lies inside, and is the one that is named");
    return 0;
}
