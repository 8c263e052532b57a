// SPDX-License-Identifier: MIT
//
// ggml from June 2024 to May 2025, as llama.cpp has it: the gates of today, and kernels whose size
// comes from the threadgroup memory that the device reports. ggml stopped that in February 2026.
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "ggml before February 2026";
constexpr Size kTiles = 8192;                // bytes of mul_mm_id for its two tiles
constexpr Size kRowIndex = 4;                // bytes for the index of one row
constexpr Size kExpertRows = Size{8} * 1024; // eight experts for each of 1024 tokens

int choose(const Device& device) {
    const bool reduction = device.supports(1007) || device.supports(5001);
    const bool matrix = device.supports(1007);
    const bool bfloat = device.supports(5001) || device.supports(1006);
    const Size limit = device.limit("maxThreadgroupMemoryLength");
    const std::string flags = std::string("simdgroup reduction support = ") + yes_no(reduction) +
                              ", simdgroup matrix mul. support = " + yes_no(matrix) +
                              ", has bfloat = " + yes_no(bfloat);
    if (!device.makes_pipeline("kernel_add")) {
        return finish(kName, Outcome::no_pipeline, flags);
    }
    if (!reduction) {
        return finish(kName, Outcome::plain, flags + ", MUL_MAT on the CPU");
    }
    const Size most_rows = (limit - 32 - kTiles) / kRowIndex;
    if (!matrix || kExpertRows > most_rows) {
        return finish(kName, Outcome::fast,
                      flags + ", MUL_MAT_ID by mul_mv_id (at most " + number(most_rows) +
                          " rows by mul_mm_id)");
    }
    const Size memory = kTiles + kExpertRows * kRowIndex;
    return finish(kName, device.dispatches_with(memory) ? Outcome::fast : Outcome::oversize,
                  flags + ", MUL_MAT_ID by mul_mm_id with " + number(memory) +
                      " bytes of threadgroup memory");
}

} // namespace

int main() {
    const auto devices = default_device();
    return devices.empty() ? finish(kName, Outcome::no_device, "failed to allocate context")
                           : choose(devices[0]);
}
