// SPDX-License-Identifier: MIT
//
// All that differs between Apple's Objective-C runtime and GNU's, and between dyld and ld.so: how a
// message is sent, how a class that loads later is noticed, how a function is interposed, which
// variable inserts a library, how the file is marked. No other file of the shim asks for the
// system.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <objc/message.h>
#include <objc/runtime.h>
#if defined(__APPLE__)
#include <crt_externs.h>
#else
#include <objc/thr.h>
#include <unistd.h>
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

template <class F> F* find_function(void* library, const char* name) noexcept {
    return reinterpret_cast<F*>(dlsym(library, name));
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

/// Sends a message as a compiler would have done.
template <class R, class... A>
R send(id receiver, const char* selector_name, A... arguments) noexcept {
    const SEL selector = sel_registerName(selector_name);
#if defined(__APPLE__)
    const IMP implementation = as_imp(&objc_msgSend);
#else
    const IMP implementation = objc_msg_lookup(receiver, selector);
#endif
    return as_function<R(id, SEL, A...)>(implementation)(receiver, selector, arguments...);
}

/// The target must not see errno change under a call that it did not make.
struct ErrnoKeeper {
    int saved = errno;
    ErrnoKeeper() noexcept = default;
    ErrnoKeeper(const ErrnoKeeper&) = delete;
    ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;
    ~ErrnoKeeper() { errno = saved; }
};

#if defined(__APPLE__)

inline constexpr const char* kInsertionVariable = "DYLD_INSERT_LIBRARIES";
inline constexpr const char* kInsertionSeparators = ":";

inline char** current_environment() noexcept {
    return *_NSGetEnviron();
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

// dyld applies __interpose tuples to every image but the one that carries them, so inside the shim
// the plain name is still the original function.
template <class F> struct Interposed {
    F* replacement;
    F* original;
};
#define METALRUN_REPLACEMENT(name) static id replacement_of_##name
#define METALRUN_ORIGINAL(name) (&name)
#define METALRUN_FIND(name) (&name) // as a program that links Metal has it
#define METALRUN_INTERPOSE(name)                                                                   \
    [[gnu::used, gnu::section("__DATA,__interpose")]] constinit const metalrun::shim::Interposed<  \
        decltype(name)> interposed_##name {                                                        \
        &replacement_of_##name, &name                                                              \
    }
#define METALRUN_MARK                                                                              \
    [[gnu::used, gnu::section("__TEXT,__metalrun")]] constinit const char marker[] = "shim"

#else

inline constexpr const char* kInsertionVariable = "LD_PRELOAD";
inline constexpr const char* kInsertionSeparators = ": ";

inline char** current_environment() noexcept {
    return environ;
}

inline constinit decltype(_objc_load_callback) previous_load_callback = nullptr;
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

#define METALRUN_REPLACEMENT(name) [[gnu::visibility("default")]] id name
#define METALRUN_ORIGINAL(name) metalrun::shim::find_function<decltype(name)>(RTLD_NEXT, #name)
#define METALRUN_FIND(name) metalrun::shim::find_function<decltype(name)>(RTLD_DEFAULT, #name)
#define METALRUN_INTERPOSE(name) static_assert(true)

struct ElfNote { // elf(5): three words, the owner's name and the descriptor, padded to four bytes
    std::uint32_t name_size = 9;
    std::uint32_t descriptor_size = 4;
    std::uint32_t type = 1;
    char name[12] = "metalrun";
    char descriptor[4] = {'s', 'h', 'i', 'm'};
};
#define METALRUN_MARK                                                                              \
    [[gnu::used, gnu::section(".note.metalrun"), gnu::aligned(4)]] constinit const ElfNote marker {}

#endif

} // namespace metalrun::shim
