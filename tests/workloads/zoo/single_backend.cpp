// SPDX-License-Identifier: MIT
//
// ggml's Metal backend without a scheduler to fall back with, as stable-diffusion.cpp uses it: the
// first operation that the device refuses is the last.
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "stable-diffusion.cpp";

int choose(const Device& device) {
    const bool reduction = device.supports(1007) || device.supports(5001);
    const std::string flags = std::string("simdgroup reduction = ") + yes_no(reduction) +
                              ", simdgroup matrix mul. = " + yes_no(device.supports(1007));
    if (!device.makes_pipeline("kernel_add")) {
        return finish(kName, Outcome::no_pipeline, flags);
    }
    return reduction ? finish(kName, Outcome::fast, flags)
                     : finish(kName, Outcome::crash, flags + ", unsupported op 'MUL_MAT'");
}

} // namespace

int main() {
    const auto devices = default_device();
    return devices.empty() ? finish(kName, Outcome::no_device, "ggml_metal_init failed")
                           : choose(devices[0]);
}
