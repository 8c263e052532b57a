// SPDX-License-Identifier: MIT
//
// wgpu, and burn on it: Apple families become feature bits. The subgroups that its kernels need are
// there by Mac family 2 already, and the limit of threadgroup memory is a constant. Every device of
// the list is an adapter.
#include "device.hpp"

using namespace zoo;

namespace {

constexpr const char* kName = "wgpu";

std::string features_of(const Device& device) {
    std::string features;
    const auto add = [&features](bool has, const char* feature) {
        features += has ? std::string(features.empty() ? "" : " | ") + feature : "";
    };
    const bool is_mac = device.supports(2002);
    add(device.supports(5001) || is_mac || device.supports(1007), "SUBGROUP");
    add((device.supports(1008) && is_mac) || device.supports(1009), "SHADER_INT64_ATOMIC_MIN_MAX");
    add(device.supports(1006), "TEXTURE_COMPRESSION_ASTC_HDR");
    add(device.supports(1007), "TEXTURE_COMPRESSION_ETC2 | TEXTURE_COMPRESSION_ASTC");
    return features.empty() ? "none" : features;
}

int choose(const std::vector<Device>& adapters) {
    std::string chosen = "max_compute_workgroup_storage_size = 32768";
    for (const auto& adapter : adapters) {
        chosen += ", " + adapter.name() + ": features = " + features_of(adapter);
    }
    return finish(
        kName, adapters[0].makes_pipeline("main0") ? Outcome::plain : Outcome::no_pipeline, chosen);
}

} // namespace

int main() {
    const auto devices = all_devices();
    return devices.empty() ? finish(kName, Outcome::no_device, "no adapter") : choose(devices);
}
