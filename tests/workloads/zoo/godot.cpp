// SPDX-License-Identifier: MIT
//
// Godot: residency sets from Apple family 6 on, if the system has them; it does not expect that a
// device of that family makes none (godotengine/godot 118510, 119451).
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "Godot";

std::string family_name(const Device& device) {
    for (Family family = 1010; family > 1000; --family) {
        if (device.supports(family)) {
            return "Apple" + std::to_string(family - 1000);
        }
    }
    return "no Apple family";
}

int choose(const Device& device) {
    const bool residency = metalrun_simulated_macos() >= 15 && device.supports(1006);
    const std::string chosen = "Using Device #0: Apple - " + device.name() + " (" +
                               family_name(device) + "), residency sets = " + yes_no(residency);
    if (residency && device.make_residency_set() != ResidencySet::made) {
        return finish(kName, Outcome::crash, chosen + ", the set is nil");
    }
    return finish(kName, device.makes_pipeline("main0") ? Outcome::plain : Outcome::no_pipeline,
                  chosen);
}

} // namespace

int main() {
    const auto devices = default_device();
    return devices.empty() ? finish(kName, Outcome::no_device, "Unable to create Metal device")
                           : choose(devices[0]);
}
