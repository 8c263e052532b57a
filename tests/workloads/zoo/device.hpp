// SPDX-License-Identifier: MIT
//
// How the programs of the zoo ask the simulated device, and how each says what came of it. A
// program asks what its original asks, chooses as that one chooses, and acts out the consequence on
// the simulation; nothing is computed. It prints one line, "NAME (simulated): what was chosen ->
// OUTCOME", and its exit status says the outcome.
#pragma once

#include "runtime.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): Metal's names
extern "C" {
id MTLCreateSystemDefaultDevice();
id MTLCopyAllDevices();
long metalrun_simulated_macos();
}
// NOLINTEND(readability-identifier-naming)

namespace zoo {

using metalrun::shim::Family;
using metalrun::shim::send;
using metalrun::shim::Size;

/// What a workload comes to; the number is the exit status, but `fast` ends with 0 too.
enum class Outcome : std::uint8_t {
    plain = 0,       ///< works, with what any device can do
    no_device = 1,   ///< Metal hands out no device
    exception = 3,   ///< an exception that ends the program
    crash = 4,       ///< an object that is not there is used, or an assertion fails
    oversize = 5,    ///< more threadgroup memory than the GPU has
    no_pipeline = 6, ///< no kernel can be made
    fast = 7,        ///< works, with the kernels that need a raised family
};

/// An object's NSString property as text; empty for no object.
inline std::string text_of(id string) {
    return string == nullptr ? std::string{} : send<const char*>(string, "UTF8String");
}

inline id string_of(const char* text) {
    return send<id>(reinterpret_cast<id>(objc_lookUpClass("SimString")),
                    "stringWithUTF8String:", text);
}

enum class ResidencySet : std::uint8_t { made, refused, refused_without_error };

class Device {
public:
    explicit Device(id device) : device_(device) {}

    [[nodiscard]] bool supports(Family family) const {
        return send<BOOL>(device_, "supportsFamily:", family) != NO;
    }
    [[nodiscard]] bool has(const char* property) const {
        return send<BOOL>(device_, property) != NO;
    }
    [[nodiscard]] Size limit(const char* property) const { return send<Size>(device_, property); }
    [[nodiscard]] std::string name() const { return text_of(send<id>(device_, "name")); }
    [[nodiscard]] std::string architecture() const {
        return text_of(send<id>(send<id>(device_, "architecture"), "name"));
    }
    [[nodiscard]] bool responds_to(const char* selector) const {
        return class_getInstanceMethod(object_getClass(device_), sel_registerName(selector)) !=
               nullptr;
    }

    [[nodiscard]] bool makes_pipeline(const char* function_name) const {
        id error = nullptr;
        const id none = nullptr;
        const auto library =
            send<id>(device_, "newLibraryWithSource:options:error:", none, none, &error);
        const auto function = send<id>(library, "newFunctionWithName:", string_of(function_name));
        return function != nullptr &&
               send<id>(device_, "newComputePipelineStateWithFunction:error:", function, &error) !=
                   nullptr;
    }
    [[nodiscard]] ResidencySet make_residency_set() const {
        const id none = nullptr;
        id error = nullptr;
        const auto set = send<id>(device_, "newResidencySetWithDescriptor:error:", none, &error);
        return set != nullptr     ? ResidencySet::made
               : error != nullptr ? ResidencySet::refused
                                  : ResidencySet::refused_without_error;
    }
    [[nodiscard]] bool makes_acceleration_structure() const {
        return send<id>(device_, "newAccelerationStructureWithSize:", Size{1} << 20U) != nullptr;
    }
    /// Whether the GPU takes a dispatch with as much threadgroup memory.
    [[nodiscard]] bool dispatches_with(Size threadgroup_memory) const {
        return send<BOOL>(device_, "simulateDispatchWithThreadgroupMemory:", threadgroup_memory) !=
               NO;
    }

private:
    id device_;
};

inline std::vector<Device> default_device() {
    const auto device = MTLCreateSystemDefaultDevice();
    return device == nullptr ? std::vector<Device>{} : std::vector{Device{device}};
}

inline std::vector<Device> all_devices() {
    const auto list = MTLCopyAllDevices();
    std::vector<Device> devices;
    const auto count = send<Size>(list, "count");
    for (Size index = 0; index < count; ++index) {
        devices.emplace_back(send<id>(list, "objectAtIndex:", index));
    }
    return devices;
}

inline const char* yes_no(bool value) {
    return value ? "true" : "false";
}

inline std::string number(Size value) {
    return std::to_string(value);
}

/// Prints the line of the program, and gives its exit status.
[[nodiscard]] inline int finish(const char* name, Outcome outcome, const std::string& chosen) {
    const char* word = "plain path";
    switch (outcome) {
    case Outcome::plain:
        break;
    case Outcome::fast:
        word = "fast path";
        break;
    case Outcome::no_device:
        word = "no device";
        break;
    case Outcome::exception:
        word = "exception";
        break;
    case Outcome::crash:
        word = "crash";
        break;
    case Outcome::oversize:
        word = "oversize";
        break;
    case Outcome::no_pipeline:
        word = "no pipeline";
        break;
    }
    std::printf("%s (simulated): %s -> %s\n", name, chosen.c_str(), word);
    return outcome == Outcome::fast ? 0 : static_cast<int>(outcome);
}

} // namespace zoo
