// SPDX-License-Identifier: MIT
//
// The simulated Metal of tests/simmetal once more, for the emulated processor: the same classes,
// order of initialisation and answers, as functions of the host. Types are encoded as clang does it
// for arm64 macOS.
#pragma once

#include "../shim/shapes.hpp"
#include "objective_c.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace emulation {

/// Where the simulated Metal is not as a guest of today has it.
enum class Deviation : std::uint8_t { none, no_device, no_base_class, other_types };

class Metal {
public:
    /// Makes the classes, and exports the functions from the machine.
    Metal(Machine& machine, ObjectiveC& runtime, Deviation deviation = Deviation::none,
          std::optional<shim_test::Shape> shape = {});
    Metal(const Metal&) = delete;
    Metal& operator=(const Metal&) = delete;

    /// The function as a program calls it, before anything is interposed.
    [[nodiscard]] std::uint64_t function(const std::string& name) const;
    /// What Metal concluded while it made the device.
    [[nodiscard]] bool emulates_bfloat16() const { return emulates_bfloat16_; }
    /// Forgets the device: the next one that is asked for is made anew.
    void forget_device() { device_ = 0; }
    [[nodiscard]] ObjectiveC::Class base_class() const { return classes_[0]; }

private:
    void add_device_classes(const std::string& base_name, const std::string& family_types);
    void add_foundation_classes();
    void give_shape();
    void override_family(ObjectiveC::Class owner, ObjectiveC::Class above);
    void export_functions();
    [[nodiscard]] std::uint64_t device();

    Machine& machine_;
    ObjectiveC& runtime_;
    Deviation deviation_;
    std::optional<shim_test::Shape> shape_;
    std::array<ObjectiveC::Class, 3> classes_{}; ///< the base class first
    ObjectiveC::Class array_class_ = 0;
    std::set<std::uint64_t> families_;
    std::uint64_t device_ = 0;
    std::uint64_t name_ = 0;     ///< an object
    std::uint64_t finished_ = 0; ///< not 0: the device has its name
    bool emulates_bfloat16_ = true;
};

} // namespace emulation
