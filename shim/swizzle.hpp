// SPDX-License-Identifier: MIT
//
// Changes what the devices of one class answer. A class is changed as a whole or not at all: its
// methods are replaced by ones that still give the original answers, and only when all of them are
// in place does one store make them answer more. There is no lock, so nothing can wait: threads
// that come to the same class at the same time all do the same steps, each of which may be
// repeated.
//
// Each device class has a slot, and each slot has replacement functions of its own: a method that
// calls its superclass then reaches the original of that level, not its own again. The rules of the
// runtime that this relies on: class_addMethod refuses a method that the class itself has, and
// class_getInstanceMethod may give one of a superclass, which must not be changed.
#pragma once

#include "settings.hpp"

#include <atomic>
#include <cstring>
#include <utility>

namespace metalrun::shim {

/// A selector, and the types that the encoding of its method may name, one after the other.
struct MethodType {
    const char* selector;
    const char* types[5]; // null ends them
};
inline constexpr MethodType kMethods[method_count] = {
    {"supportsFamily:", {"BcC", "@", ":", "qQ"}},
    {"maxThreadgroupMemoryLength", {"Q", "@", ":"}},
    {"recommendedMaxWorkingSetSize", {"Q", "@", ":"}}};
inline constexpr MethodType kInitialiser{"initGPUFamilySupport", {"v", "@", ":"}};

enum class State : std::uint8_t { undecided, refused, active, described };

struct Slot {
    std::atomic<Class> device_class{};
    std::atomic<State> state{};
    std::atomic<IMP> originals[method_count]{};
    [[nodiscard]] bool is_active() const noexcept { return state.load() >= State::active; }
};
inline constexpr std::size_t kSlots = 8;
inline constinit Slot slots[kSlots]{};

/// A replacement can be reached only after its original was stored, but a weakly ordered processor
/// may have run this load before the one that led to the replacement; the next load sees it.
template <class F> F* original(const std::atomic<IMP>& stored) noexcept {
    IMP implementation = nullptr;
    while (implementation == nullptr) {
        implementation = stored.load(std::memory_order_acquire);
    }
    return as_function<F>(implementation);
}

template <std::size_t slot> BOOL family_answer(id self, SEL command, Family family) {
    const auto own = original<BOOL(id, SEL, Family)>(slots[slot].originals[supports_family]);
    const BOOL answer = own(self, command, family);
    const bool raised = family >= 1001 &&
                        static_cast<Size>(family) <= settings.at_least[supports_family] &&
                        slots[slot].is_active();
    return raised ? YES : answer;
}

template <std::size_t slot, DeviceMethod method> Size size_answer(id self, SEL command) {
    const auto own = original<Size(id, SEL)>(slots[slot].originals[method]);
    const Size answer = own(self, command);
    return settings.at_least[method] > answer && slots[slot].is_active() ? settings.at_least[method]
                                                                         : answer;
}

template <std::size_t slot> IMP replacement_in(std::size_t method) noexcept {
    return method == supports_family      ? as_imp(&family_answer<slot>)
           : method == threadgroup_memory ? as_imp(&size_answer<slot, threadgroup_memory>)
                                          : as_imp(&size_answer<slot, working_set>);
}

/// By slot, what gives the replacement of a method.
inline constexpr decltype(&replacement_in<0>) kReplacements[kSlots] = {
    &replacement_in<0>, &replacement_in<1>, &replacement_in<2>, &replacement_in<3>,
    &replacement_in<4>, &replacement_in<5>, &replacement_in<6>, &replacement_in<7>};

/// What the class answers the selector with; null if that is nothing, or of another type.
inline IMP find_implementation(Class device_class, const MethodType& type) noexcept {
    const RuntimeLock lock;
    const auto method = class_getInstanceMethod(device_class, sel_registerName(type.selector));
    const char* encoding = method == nullptr ? nullptr : method_getTypeEncoding(method);
    for (std::size_t index = 0; type.types[index] != nullptr; ++index) {
        if (encoding == nullptr || *encoding == '\0' ||
            std::strchr(type.types[index], *encoding) == nullptr) {
            return nullptr;
        }
        // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): walks a C string
        encoding += 1 + std::strspn(encoding + 1, "0123456789"); // an offset in the frame
    }
    return *encoding == '\0' ? method_getImplementation(method) : nullptr;
}

/// Makes the class itself answer the selector with the implementation, and reads that back: another
/// thread may be ahead, and memory may run out.
inline bool put(Class device_class, const MethodType& type, IMP implementation) noexcept {
    const RuntimeLock lock;
    const SEL selector = sel_registerName(type.selector);
    const auto found = class_getInstanceMethod(device_class, selector);
    if (found == class_getInstanceMethod(class_getSuperclass(device_class), selector)) {
        class_addMethod(device_class, selector, implementation, method_getTypeEncoding(found));
    } else {
        set_own_implementation(device_class, found, implementation);
    }
    return find_implementation(device_class, type) == implementation;
}

/// Null, or why the class cannot be changed. Nothing is changed before every method was looked at.
inline const char* install(Class device_class, std::size_t slot) noexcept {
    for (std::size_t method = 0; method < method_count; ++method) {
        const IMP own = find_implementation(device_class, kMethods[method]);
        if (settings.at_least[method] != 0 && own == nullptr) {
            return "a method of the device class is missing or has another type";
        }
        IMP none = nullptr;
        if (own != kReplacements[slot](method)) { // else another thread is ahead of this one
            slots[slot].originals[method].compare_exchange_strong(none, own);
        }
    }
    for (std::size_t method = 0; method < method_count; ++method) {
        const IMP wanted = kReplacements[slot](method);
        if (settings.at_least[method] != 0 && !put(device_class, kMethods[method], wanted)) {
            return "a method of the device class could not be replaced";
        }
    }
    return nullptr;
}

/// The slot of the class, taken for it if it has none yet; kSlots if all are in use.
inline std::size_t claim_slot(Class device_class) noexcept {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
        Class owner = nullptr;
        if (slots[slot].device_class.compare_exchange_strong(owner, device_class) ||
            owner == device_class) {
            return slot;
        }
    }
    return kSlots;
}

struct PatchResult {
    bool changed = false;          ///< this call decided it; true once per class
    bool active = false;           ///< the class answers as asked
    const char* problem = nullptr; ///< set if it was decided here that the class stays stock
};

/// Changes the class itself, never the superclass that a method is inherited from.
inline PatchResult patch_device_class(Class device_class) noexcept {
    const std::size_t slot = claim_slot(device_class);
    if (slot == kSlots) {
        return {}; // more classes than a Mac has kinds of GPU: those beyond stay stock
    }
    State decided = slots[slot].state;
    const char* problem = decided == State::undecided ? install(device_class, slot) : nullptr;
    const State wanted = problem == nullptr ? State::active : State::refused;
    if (decided != State::undecided ||
        !slots[slot].state.compare_exchange_strong(decided, wanted)) {
        return {.active = decided >= State::active};
    }
    for (std::size_t method = 0; problem != nullptr && method < method_count; ++method) {
        if (find_implementation(device_class, kMethods[method]) == kReplacements[slot](method)) {
            put(device_class, kMethods[method], slots[slot].originals[method]); // roll back
        }
    }
    return {.changed = true, .active = problem == nullptr, .problem = problem};
}

/// True once for each active class: its devices have yet to be described.
inline bool claim_description(Class device_class) noexcept {
    const std::size_t slot = claim_slot(device_class);
    State active = State::active;
    return slot < kSlots && slots[slot].state.compare_exchange_strong(active, State::described);
}

/// An answer of a device from that implementation; for supportsFamily: the highest of Apple1 to
/// Apple10 that is answered with yes, or 0.
inline Size ask(id device, DeviceMethod method, IMP implementation) noexcept {
    const SEL selector = sel_registerName(kMethods[method].selector);
    if (method != supports_family) {
        return as_function<Size(id, SEL)>(implementation)(device, selector);
    }
    Family family = 1010;
    while (family > 1000 &&
           as_function<BOOL(id, SEL, Family)>(implementation)(device, selector, family) == NO) {
        --family;
    }
    return family > 1000 ? static_cast<Size>(family) : 0;
}

/// An answer of a device, by its own method and as anyone gets it who asks. The class must be
/// active, and the method one that was changed.
inline std::pair<Size, Size> answers_of(id device, DeviceMethod method) noexcept {
    const auto device_class = object_getClass(device);
    return {ask(device, method, slots[claim_slot(device_class)].originals[method]),
            ask(device, method, find_implementation(device_class, kMethods[method]))};
}

inline constinit std::atomic<IMP> initialiser_original{};
inline constinit std::atomic<void (*)(id)> after_initialiser{};

inline void init_gpu_family_support(id self, SEL command) {
    original<void(id, SEL)>(initialiser_original)(self, command);
    // Metal builds its feature cache from supportsFamily: next, so the class must answer by then.
    after_initialiser.load()(self);
}

/// Hooks `initGPUFamilySupport` of the base class; `then` is called with each device for which it
/// has run. Gives null, or the reason why nothing was changed.
inline const char* hook_initialiser(Class base, void (*then)(id device)) noexcept {
    const IMP own = find_implementation(base, kInitialiser);
    if (own == nullptr) {
        return "initGPUFamilySupport of '_MTLDevice' is missing or has another type";
    }
    IMP none = nullptr;
    after_initialiser = then;
    const bool first = initialiser_original.compare_exchange_strong(none, own);
    return !first || put(base, kInitialiser, as_imp(&init_gpu_family_support))
               ? nullptr
               : "initGPUFamilySupport of '_MTLDevice' could not be replaced";
}

} // namespace metalrun::shim
