// SPDX-License-Identifier: MIT
//
// What the shim needs of the Objective-C runtime and of dyld: how a message is sent, how a function
// is interposed, which variable inserts a library, how the file is marked. The same things for the
// tests on Linux, where GNU's runtime and ld.so stand in, are in tests/simmetal/gnu_runtime.hpp. No
// other file of the shim asks for the system.
#pragma once

#include <cerrno>
#include <cstdint>

#include <objc/message.h>
#include <objc/runtime.h>
#if defined(__APPLE__)
#include <crt_externs.h>
#else
#include "gnu_runtime.hpp"
#endif

namespace metalrun::shim {

using Family = long;        ///< MTLGPUFamily, an NSInteger
using Size = unsigned long; ///< NSUInteger, and on 64-bit systems Metal's uint64_t too

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): an IMP is an untyped function pointer
// and the runtime offers no other way; only these functions do it. The step over void (*)() says
// that the change of type is meant.
template <class F> IMP as_imp(F* function) noexcept {
    return reinterpret_cast<IMP>(reinterpret_cast<void (*)()>(function));
}

template <class F> F* as_function(IMP implementation) noexcept {
    return reinterpret_cast<F*>(reinterpret_cast<void (*)()>(implementation));
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

#if defined(__APPLE__)
inline constexpr const char* kInsertionVariable = "DYLD_INSERT_LIBRARIES=";
inline constexpr const char* kInsertionSeparators = ":";

/// What a message runs.
inline IMP message_function(id, SEL) noexcept {
    return as_imp(&objc_msgSend);
}

/// Apple's runtime takes its lock in each of its functions.
struct [[maybe_unused]] RuntimeLock {};

/// The class must be the one that has the method itself.
inline void set_own_implementation(Class, Method method, IMP implementation) noexcept {
    method_setImplementation(method, implementation);
}

/// The shim links Metal, so its classes exist before the constructor runs; a class that is missing
/// then will not come later.
inline void watch_class_loads(void (*)()) noexcept {}

// Lets what a function of Metal makes pass through `hand` on its way to the target. dyld applies
// __interpose tuples to every image but the one that carries them, so inside the shim the plain
// name is still the original function.
#define METALRUN_INTERPOSE(name, hand, parameters, arguments)                                      \
    extern "C" id name parameters;                                                                 \
    static id replacement_of_##name parameters {                                                   \
        return hand(name arguments);                                                               \
    }                                                                                              \
    [[gnu::used, gnu::section("__DATA,__interpose")]] constinit const struct {                     \
        decltype(name)* replacement;                                                               \
        decltype(name)* original;                                                                  \
    } interposed_##name {                                                                          \
        &replacement_of_##name, &name                                                              \
    }
#define METALRUN_MARK                                                                              \
    [[gnu::used, gnu::section("__TEXT,__metalrun")]] constinit const char marker[] = "shim"
#endif

/// Sends a message as a compiler would have done. To null, the answer is null or 0.
template <class R, class... A> R send(id receiver, const char* name, A... arguments) noexcept {
    const SEL selector = sel_registerName(name);
    const auto function = as_function<R(id, SEL, A...)>(message_function(receiver, selector));
    return function(receiver, selector, arguments...);
}

/// The target must not see errno change under a call that it did not make.
struct ErrnoKeeper {
    const int saved = errno;
    ~ErrnoKeeper() { errno = saved; }
};

} // namespace metalrun::shim
