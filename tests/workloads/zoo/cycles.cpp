// SPDX-License-Identifier: MIT
//
// Cycles: devices by their name, and MetalRT by itself on what it takes for an M3 or later, from
// macOS 14 on. CYCLES_METALRT says otherwise.
#include "device.hpp"

#include <algorithm>
#include <cstdlib>

using namespace zoo;

namespace {

constexpr const char* kName = "Cycles";

bool is_usable(const Device& device) {
    return device.name().find("Apple") != std::string::npos;
}

bool uses_metalrt(const Device& device) {
    const char* text = std::getenv("CYCLES_METALRT");
    return text != nullptr ? *text != '0'
                           : metalrun_simulated_macos() >= 14 && device.supports(1009);
}

int choose(const Device& device) {
    const bool metalrt = uses_metalrt(device);
    const std::string chosen =
        "Added device \"" + device.name() + "\", MetalRT = " + yes_no(metalrt);
    if (!device.makes_pipeline("kernel_metal_integrator_intersect_closest")) {
        return finish(kName, Outcome::no_pipeline, chosen);
    }
    if (metalrt && !device.makes_acceleration_structure()) {
        return finish(kName, Outcome::crash, chosen + ", the acceleration structure is nil");
    }
    return finish(kName, Outcome::plain, chosen);
}

} // namespace

int main() {
    const auto devices = all_devices();
    const auto found = std::ranges::find_if(devices, is_usable);
    return found == devices.end() ? finish(kName, Outcome::no_device, "no usable Metal device")
                                  : choose(*found);
}
