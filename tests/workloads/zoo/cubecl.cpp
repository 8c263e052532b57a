// SPDX-License-Identifier: MIT
//
// cubecl-metal, as burn uses it: Metal 3 is taken for granted, and the threadgroup memory is the
// budget for a kernel's shared memory, which is then used up.
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "cubecl-metal";

int choose(const Device& device) {
    if (!device.supports(5001)) {
        return finish(kName, Outcome::exception, "panicked: Metal 3 is required");
    }
    const Size budget = device.limit("maxThreadgroupMemoryLength");
    const std::string chosen = "max_shared_memory_size = " + number(budget);
    if (!device.makes_pipeline("matmul_tiling")) {
        return finish(kName, Outcome::no_pipeline, chosen);
    }
    return finish(kName, device.dispatches_with(budget) ? Outcome::plain : Outcome::oversize,
                  chosen);
}

} // namespace

int main() {
    const auto devices = default_device();
    return devices.empty() ? finish(kName, Outcome::exception, "panicked: no device")
                           : choose(devices[0]);
}
