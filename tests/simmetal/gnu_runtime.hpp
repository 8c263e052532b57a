// SPDX-License-Identifier: MIT
//
// What stands in on Linux for the parts of Apple's Objective-C runtime and of dyld that
// shim/runtime.hpp names: GNU's runtime and ld.so. Nothing of it is in the shim for macOS.
#pragma once

#include <cstdint>

#include <dlfcn.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <objc/thr.h>
#include <unistd.h>

namespace metalrun::shim {

inline constexpr const char* kInsertionVariable = "LD_PRELOAD=";
inline constexpr const char* kInsertionSeparators = ": ";

/// As crt_externs.h declares it.
inline char*** _NSGetEnviron() noexcept { // NOLINT(bugprone-reserved-identifier): Darwin's name
    return &environ;
}

/// What a message to the receiver runs.
inline IMP message_function(id receiver, SEL selector) noexcept {
    return objc_msg_lookup(receiver, selector);
}

extern "C" objc_mutex_t __objc_runtime_mutex; // NOLINT: the runtime's name, which no header has

/// GNU's runtime takes its lock (a recursive one) when it changes a class, but not when it looks a
/// method up.
struct RuntimeLock {
    RuntimeLock() noexcept { objc_mutex_lock(__objc_runtime_mutex); }
    RuntimeLock(const RuntimeLock&) = delete;
    RuntimeLock& operator=(const RuntimeLock&) = delete;
    ~RuntimeLock() { objc_mutex_unlock(__objc_runtime_mutex); }
};

/// The class must be the one that has the method itself. A class that was never sent a message
/// shares its dispatch table with all such classes, and method_setImplementation would write into
/// that one; the lookup gives it its own.
inline void set_own_implementation(Class owner, Method method, IMP implementation) noexcept {
    class_getMethodImplementation(owner, method_getName(method));
    method_setImplementation(method, implementation);
}

using ClassLoadWatcher = void (*)();
inline constinit ClassLoadWatcher class_load_watcher = nullptr;
inline constinit decltype(_objc_load_callback) previous_load_callback = nullptr;

/// Calls back after each class that is loaded, with the runtime's (recursive) lock held.
inline void watch_class_loads(ClassLoadWatcher watcher) noexcept {
    class_load_watcher = watcher;
    previous_load_callback = _objc_load_callback;
    _objc_load_callback = [](Class loaded, objc_category* category) {
        if (previous_load_callback != nullptr) {
            previous_load_callback(loaded, category);
        }
        class_load_watcher();
    };
}

template <class F> F* find_function(void* library, const char* name) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym(3) gives untyped addresses
    return reinterpret_cast<F*>(dlsym(library, name));
}

} // namespace metalrun::shim

// Lets what a function of Metal makes pass through `hand` on its way to the target. There may be no
// Metal in the process.
#define METALRUN_INTERPOSE(name, hand, parameters, arguments)                                      \
    extern "C" [[gnu::visibility("default")]] id name parameters {                                 \
        const auto original = metalrun::shim::find_function<decltype(name)>(RTLD_NEXT, #name);     \
        return original == nullptr ? nullptr : hand(original arguments);                           \
    }                                                                                              \
    static_assert(true)

struct ElfNote { // elf(5): three words, the owner's name and the descriptor, padded to four bytes
    std::uint32_t name_size = 9;
    std::uint32_t descriptor_size = 4;
    std::uint32_t type = 1;
    char name[12] = "metalrun";
    char descriptor[4] = {'s', 'h', 'i', 'm'};
};
#define METALRUN_MARK                                                                              \
    [[gnu::used, gnu::section(".note.metalrun"), gnu::aligned(4)]] constinit const ElfNote marker {}
