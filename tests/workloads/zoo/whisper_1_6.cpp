// SPDX-License-Identifier: MIT
//
// whisper.cpp 1.6: all of it on the CPU unless the device has Apple family 7.
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "whisper.cpp 1.6";

int choose(const Device& device) {
    if (!device.supports(1007)) {
        return finish(kName, Outcome::plain,
                      "Metal GPU does not support family 7 - falling back to CPU");
    }
    return finish(kName,
                  device.makes_pipeline("kernel_mul_mm_f16_f32") ? Outcome::fast
                                                                 : Outcome::no_pipeline,
                  "using Metal backend");
}

} // namespace

int main() {
    const auto devices = default_device();
    return devices.empty() ? finish(kName, Outcome::plain, "no Metal device, falling back to CPU")
                           : choose(devices[0]);
}
