// SPDX-License-Identifier: MIT
//
// PyTorch's MPS backend: the first device of Mac family 2, with a system that has what MPSGraph
// needs. Apple's kernels beneath may choose by what Metal concluded from the answers while the
// device was made, which is printed: only an early hook changes it, to an effect that nobody has
// measured.
#include "device.hpp"

#include <algorithm>

using namespace zoo;

namespace {

constexpr const char* kName = "PyTorch MPS";

int choose(const Device& device) {
    const std::string chosen =
        std::string("torch.backends.mps.is_available() = True, Metal's own flags: bfloat16 ") +
        (device.has("requiresBFloat16Emulation") ? "emulated" : "native") + ", bfloat16 buffers " +
        yes_no(device.has("supportsBFloat16Buffers")) + ", global relocation " +
        yes_no(device.has("supportsGlobalRelocation")) + ", lossy compression " +
        yes_no(device.has("supportsLossyCompression"));
    return finish(kName, device.makes_pipeline("mps_add") ? Outcome::plain : Outcome::no_pipeline,
                  chosen);
}

} // namespace

int main() {
    const auto devices = all_devices();
    const auto found =
        std::ranges::find_if(devices, [](const Device& device) { return device.supports(2002); });
    return found == devices.end() || metalrun_simulated_macos() < 14
               ? finish(kName, Outcome::plain, "torch.backends.mps.is_available() = False")
               : choose(*found);
}
