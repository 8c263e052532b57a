// SPDX-License-Identifier: MIT
//
// MLX: kernels by the name of the architecture, heaps by the name of the device, residency sets by
// Metal 3. No Apple family and no threadgroup memory is ever asked for.
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "MLX";

int choose(const Device& device) {
    const long macos = metalrun_simulated_macos();
    const bool heaps = device.name() != "Apple Paravirtual device";
    const std::string chosen =
        "architecture " + (macos >= 14 ? device.architecture() : std::string("unknown")) +
        ", heaps = " + yes_no(heaps) +
        ", memory limit = " + number(device.limit("recommendedMaxWorkingSetSize") / 100 * 95) +
        ", largest buffer = " + number(device.limit("maxBufferLength"));
    if (macos >= 15 && device.supports(5001)) {
        switch (device.make_residency_set()) {
        case ResidencySet::made:
            break;
        case ResidencySet::refused:
            return finish(kName, Outcome::exception,
                          "[metal::Device] Unable to construct residency set");
        case ResidencySet::refused_without_error:
            return finish(kName, Outcome::crash, "reads the error that nobody wrote");
        }
    }
    return finish(kName,
                  device.makes_pipeline("affine_qmm_t") ? Outcome::plain : Outcome::no_pipeline,
                  chosen);
}

} // namespace

int main() {
    auto devices = all_devices();
    if (devices.empty()) {
        devices = default_device();
    }
    return devices.empty() ? finish(kName, Outcome::no_device, "[metal::load_device] No device")
                           : choose(devices[0]);
}
