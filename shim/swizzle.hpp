// SPDX-License-Identifier: MIT
//
// Changes what the devices of one class answer. A class is changed as a whole or not at all: its
// methods are replaced by ones that still give the original answers, and only when all of them are
// in place does one store make them answer more. There is no lock, so nothing can wait: threads
// that come to the same class at the same time all do the same steps, each of which may be
// repeated.
#pragma once

#include "runtime.hpp"

namespace metalrun::shim {

enum DeviceMethod : std::uint8_t { supports_family, threadgroup_memory, working_set, method_count };

/// What each method answers at least, for supportsFamily: the ceiling. 0 leaves a method as it is.
struct Answers {
    Size at_least[method_count]{};
};

struct PatchResult {
    bool changed = false;          ///< this call decided it; true once per class
    bool active = false;           ///< the class answers as asked
    const char* problem = nullptr; ///< set if it was decided here that the class stays stock
};

/// To be called once, before the functions below.
void set_answers(const Answers& wanted) noexcept;

/// Hooks `initGPUFamilySupport` of the base class; `then` is called with each device for which it
/// has run. Gives null, or the reason why nothing was changed.
[[nodiscard]] const char* hook_initialiser(Class base, void (*then)(id device)) noexcept;

/// Changes the class itself, never the superclass that a method is inherited from.
[[nodiscard]] PatchResult patch_device_class(Class device_class) noexcept;

/// True once for each active class: its devices have yet to be described.
[[nodiscard]] bool claim_description(Class device_class) noexcept;

/// An answer of a device, by its own method and as anyone gets it who asks; for supportsFamily: the
/// highest of Apple1 to Apple10 that is answered with yes, or 0. The class must be active, and the
/// method one that was changed.
struct BeforeAndAfter {
    Size stock = 0;
    Size given = 0;
};
[[nodiscard]] BeforeAndAfter answers_of(id device, DeviceMethod method) noexcept;

} // namespace metalrun::shim
