// SPDX-License-Identifier: MIT
//
// Gives the simulated device another shape (shapes.hpp), before the shim's constructor runs: by the
// variable SHAPE when it is preloaded behind the shim, or when it is told to.
#include "runtime.hpp"
#include "shapes.hpp"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

using namespace metalrun::shim;
using shim_test::Shape;

// NOLINTBEGIN(readability-identifier-naming,misc-use-internal-linkage): names of others
extern "C" id MTLCreateSystemDefaultDevice();
// NOLINTEND(readability-identifier-naming,misc-use-internal-linkage)

namespace {

constexpr const char* kConcrete = "AppleParavirtDevice";
constexpr const char* kBetween = "IOGPUMetalDevice";
constexpr const char* kFamilyTypes = "B24@0:8q16";

constinit const char* cannot_be_added = nullptr;
constinit Class concrete = nullptr;
constinit bool is_observed = false;
constinit Class observer = nullptr;

/// What the superclass of the concrete class or of the one between does.
template <bool is_concrete> BOOL ask_above(id self, SEL selector, Family family) {
    const auto above = class_getSuperclass(objc_lookUpClass(is_concrete ? kConcrete : kBetween));
    return as_function<BOOL(id, SEL, Family)>(class_getMethodImplementation(above, selector))(
        self, selector, family);
}

void override_family(const char* name, IMP implementation, const char* types) {
    class_addMethod(objc_lookUpClass(name), sel_registerName("supportsFamily:"), implementation,
                    types);
}

Class concrete_class(id, SEL) {
    return concrete;
}

id create_device() {
    return find_function<decltype(MTLCreateSystemDefaultDevice)>(RTLD_NEXT,
                                                                 "MTLCreateSystemDefaultDevice")();
}

/// As KVO does it: the device gets a class of its own, which says that it is the other one.
void observe(id device) {
    if (observer == nullptr) {
        observer = objc_allocateClassPair(concrete, "NSKVONotifying_AppleParavirtDevice", 0);
        class_addMethod(observer, sel_registerName("class"), as_imp(&concrete_class), "#16@0:8");
        objc_registerClassPair(observer);
    }
    object_setClass(device, observer);
}

} // namespace

// NOLINTBEGIN(misc-use-internal-linkage): found by name
extern "C" BOOL class_addMethod(Class owner, SEL selector, IMP implementation, const char* types) {
    if (cannot_be_added != nullptr && std::strcmp(sel_getName(selector), cannot_be_added) == 0) {
        return NO;
    }
    return find_function<decltype(class_addMethod)>(RTLD_NEXT, "class_addMethod")(
        owner, selector, implementation, types);
}

/// Stands between the shim and the simulated Metal.
extern "C" id MTLCreateSystemDefaultDevice() {
    const auto device = create_device();
    if (is_observed) {
        observe(device);
    }
    return device;
}

extern "C" void metalrun_give_shape(int number) {
    concrete = objc_lookUpClass(kConcrete);
    switch (static_cast<Shape>(number)) {
    case Shape::two_levels:
        override_family(kBetween, as_imp(&ask_above<false>), kFamilyTypes);
        [[fallthrough]];
    case Shape::own:
        return override_family(kConcrete, as_imp(&ask_above<true>), kFamilyTypes);
    case Shape::other_type:
        return override_family(kConcrete, as_imp(&ask_above<true>), "B24@0:8@16");
    case Shape::made_before:
        create_device();
        return;
    case Shape::observed:
        is_observed = true;
        return;
    case Shape::unchangeable:
        cannot_be_added = "recommendedMaxWorkingSetSize";
        return;
    case Shape::missing: // GNU's runtime cannot take a method away
    case Shape::no_hook:
    case Shape::two_devices: // whoever asks makes a second one
        return;
    }
}
// NOLINTEND(misc-use-internal-linkage)

namespace {

[[gnu::constructor]] void start() {
    if (const char* number = std::getenv("SHAPE")) { // NOLINT(concurrency-mt-unsafe): one thread
        metalrun_give_shape(static_cast<int>(std::strtol(number, nullptr, 10)));
    }
}

} // namespace
