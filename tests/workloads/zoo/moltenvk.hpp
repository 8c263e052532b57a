// SPDX-License-Identifier: MIT
//
// As much of Vulkan as the stand-in for libMoltenVK hands on to a program.
#pragma once

#include "device.hpp"

namespace zoo {

struct VulkanDevice {
    Outcome outcome = Outcome::plain; ///< what came of making it
    std::string log;
    Size max_compute_shared_memory_size = 0;
};

/// Makes the logical device, as vkCreateDevice does.
[[nodiscard]] VulkanDevice create_vulkan_device(const Device& device);

} // namespace zoo
