// SPDX-License-Identifier: MIT
//
// A Vulkan program that knows nothing of Metal, only of the library libMoltenVK that it links. It
// uses the shared memory that Vulkan says is there.
#include "moltenvk.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "Vulkan on MoltenVK";

int choose(const Device& device) {
    const VulkanDevice vulkan = create_vulkan_device(device);
    if (vulkan.outcome != Outcome::plain) {
        return finish(kName, vulkan.outcome, vulkan.log);
    }
    if (!device.makes_pipeline("main0")) {
        return finish(kName, Outcome::no_pipeline, vulkan.log);
    }
    return finish(kName,
                  device.dispatches_with(vulkan.max_compute_shared_memory_size) ? Outcome::plain
                                                                                : Outcome::oversize,
                  vulkan.log);
}

} // namespace

int main() {
    const auto devices = all_devices();
    return devices.empty() ? finish(kName, Outcome::no_device, "VK_ERROR_INITIALIZATION_FAILED")
                           : choose(devices[0]);
}
