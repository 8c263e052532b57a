// SPDX-License-Identifier: MIT
//
// The line by which the shim's tests compare what a device answers, however it is asked.
#pragma once

#include <string>

namespace shim_test {

/// `supports` takes a family, `size_of` the selector of a limit; `emulates` is what Metal concluded
/// while it made the device.
template <class Supports, class SizeOf>
std::string render_answers(Supports supports, SizeOf size_of, bool emulates) {
    std::string text = "yes to";
    for (const long family :
         {1005, 1006, 1007, 1008, 1009, 1010, 1011, 2001, 3003, 3004, 4001, 5001, 5002}) {
        if (supports(family)) {
            text.append(" ").append(std::to_string(family));
        }
    }
    text.append(", memory ").append(std::to_string(size_of("maxThreadgroupMemoryLength")));
    text.append(", set ").append(std::to_string(size_of("recommendedMaxWorkingSetSize")));
    return text + ", bfloat16 " + (emulates ? "emulated" : "native");
}

} // namespace shim_test
