// SPDX-License-Identifier: MIT
//
// MoltenVK: Apple families become Vulkan features, the threadgroup memory becomes a Vulkan limit.
// With Metal's argument buffers, which are on unless the variable below is 0, a family of 6 or
// above means residency sets on macOS 15 and later.
#include "moltenvk.hpp"

#include <cstdlib>
#include <string_view>

namespace zoo {

namespace {

bool uses_argument_buffers() {
    const char* text = std::getenv("MVK_CONFIG_USE_METAL_ARGUMENT_BUFFERS");
    return text == nullptr || std::string_view(text) != "0";
}

} // namespace

VulkanDevice create_vulkan_device(const Device& device) {
    const bool residency = metalrun_simulated_macos() >= 15 && device.supports(1006);
    VulkanDevice result{
        .outcome = Outcome::plain,
        .log =
            std::string("residencySets = ") + yes_no(residency) + ", simdReduction = " +
            yes_no(device.supports(1007)) + ", depthBounds = " + yes_no(device.supports(1010)) +
            ", maxComputeSharedMemorySize = " + number(device.limit("maxThreadgroupMemoryLength")),
        .max_compute_shared_memory_size = device.limit("maxThreadgroupMemoryLength"),
    };
    if (uses_argument_buffers() && !device.responds_to("newArgumentEncoderWithLayout:")) {
        result.outcome = Outcome::exception;
        result.log += ", -[AppleParavirtDevice newArgumentEncoderWithLayout:]: unrecognized "
                      "selector sent to instance";
    } else if (uses_argument_buffers() && residency &&
               device.make_residency_set() != ResidencySet::made) {
        result.outcome = Outcome::crash;
        result.log += ", the residency set is nil";
    }
    return result;
}

} // namespace zoo
