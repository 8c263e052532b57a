// SPDX-License-Identifier: MIT
//
// See in_process.hpp.
#include "in_process.hpp"

#include "darwin.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace emulation {
namespace {

using metalrun::shim::RuntimeLock;
using metalrun::shim::Size;

// For dladdr, which glibc can only answer for what it loaded itself.
constinit std::uint64_t image_address = 0;
constinit std::uint64_t image_size = 0;
constinit char image_path[4096]{};

constinit std::uint64_t stack_guard = 0x00a5'c3e1'f00d'1234;

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): addresses of mapped machine code are
// numbers until they are called
template <class F> F* function_at(std::uint64_t address) {
    return reinterpret_cast<F*>(address);
}

template <class F> std::uint64_t address_of_function(F* function) {
    return reinterpret_cast<std::uint64_t>(function);
}

std::uint64_t address_of_data(const void* data) {
    return reinterpret_cast<std::uint64_t>(data);
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

// --- what differs between libSystem and glibc
// -----------------------------------------------------

int* darwin_error() {
    return &errno;
}

char*** darwin_environment() {
    return &environ;
}

int darwin_open(const char* path, int flags) {
    const int own = open_flags_from_darwin(flags);
    if (own < 0 || (own & O_CREAT) != 0) {
        errno = EINVAL;
        return -1;
    }
    return open(path, own | O_CLOEXEC);
}

int darwin_fstat(int file, DarwinStat* result) {
    struct stat status{};
    const int failed = fstat(file, &status);
    *result = darwin_stat_of(status);
    return failed;
}

int darwin_stat(const char* path, DarwinStat* result) {
    struct stat status{};
    const int failed = stat(path, &status);
    *result = darwin_stat_of(status);
    return failed;
}

int darwin_dladdr(const void* address, Dl_info* result) {
    const auto number = address_of_data(address);
    if (number < image_address || number - image_address >= image_size) {
        return dladdr(address, result);
    }
    *result = {
        .dli_fname = image_path, .dli_fbase = nullptr, .dli_sname = nullptr, .dli_saddr = nullptr};
    return 1;
}

// --- what differs between Apple's Objective-C runtime and GNU's: Apple's takes its lock in each
// function, and finds methods by way of the message
// --------------------------------------------------

/// Enough for messages with numbers and pointers: an argument too many does no harm.
id objc_message(id receiver, SEL selector, Size argument) {
    const IMP found = objc_msg_lookup(receiver, selector);
    return metalrun::shim::as_function<id(id, SEL, Size)>(found)(receiver, selector, argument);
}

Class apple_object_get_class(id object) {
    return object_getClass(object); // inline here
}

Method apple_get_instance_method(Class owner, SEL selector) {
    const RuntimeLock lock;
    return class_getInstanceMethod(owner, selector);
}

IMP apple_get_implementation(Method method) {
    const RuntimeLock lock;
    return method_getImplementation(method);
}

/// GNU's function must be told the class, see set_own_implementation.
IMP apple_set_implementation(Method method, IMP implementation) {
    const RuntimeLock lock;
    const IMP before = method_getImplementation(method);
    std::vector<Class> classes(static_cast<std::size_t>(objc_getClassList(nullptr, 0)));
    objc_getClassList(classes.data(), static_cast<int>(classes.size()));
    for (const auto owner : classes) {
        const auto superclass = class_getSuperclass(owner);
        const auto selector = method_getName(method);
        if (class_getInstanceMethod(owner, selector) == method &&
            (superclass == nullptr || class_getInstanceMethod(superclass, selector) != method)) {
            metalrun::shim::set_own_implementation(owner, method, implementation);
        }
    }
    return before;
}

[[noreturn]] void not_bound() {
    static constexpr char kMessage[] = "an import was not bound\n";
    static_cast<void>(write(STDERR_FILENO, kMessage, sizeof kMessage - 1) == 0);
    _exit(98);
}

std::uint64_t find_import(const std::string& name) {
    static const std::map<std::string, std::uint64_t> differing{
        {"___error", address_of_function(&darwin_error)},
        {"__NSGetEnviron", address_of_function(&darwin_environment)},
        {"_open", address_of_function(&darwin_open)},
        {"_fstat$INODE64", address_of_function(&darwin_fstat)},
        {"_stat$INODE64", address_of_function(&darwin_stat)},
        {"_dladdr", address_of_function(&darwin_dladdr)},
        {"_objc_msgSend", address_of_function(&objc_message)},
        {"_object_getClass", address_of_function(&apple_object_get_class)},
        {"_class_getInstanceMethod", address_of_function(&apple_get_instance_method)},
        {"_method_getImplementation", address_of_function(&apple_get_implementation)},
        {"_method_setImplementation", address_of_function(&apple_set_implementation)},
        {"___stack_chk_guard", address_of_data(&stack_guard)},
        {"dyld_stub_binder", address_of_function(&not_bound)},
    };
    if (const auto found = differing.find(name); found != differing.end()) {
        return found->second;
    }
    // What both systems have, and Metal, which is simulated.
    return name.starts_with('_') && name.find('$') == std::string::npos
               ? address_of_data(dlsym(RTLD_DEFAULT, name.substr(1).c_str()))
               : 0;
}

/// A segment's pages, once its pointers are set.
bool protect(std::span<std::byte> memory, const Segment& segment) {
    constexpr std::uint64_t kPage = 0x1000;
    const auto size = (segment.size + kPage - 1) / kPage * kPage;
    const auto has = [&segment](unsigned bit) { return (segment.protection & bit) != 0; };
    return size == 0 || mprotect(memory.subspan(segment.offset, size).data(), size,
                                 (has(1) ? PROT_READ : 0) | (has(2) ? PROT_WRITE : 0) |
                                     (has(4) ? PROT_EXEC : 0)) == 0;
}

} // namespace

std::expected<LoadedLibrary, std::string> LoadedLibrary::load(const std::string& path) {
    auto image = read_image(path, Cpu::x86_64);
    if (!image) {
        return std::unexpected(path + ": " + image.error());
    }
    constexpr std::size_t kRoom = 17U << 20U; // more than the loader accepts
    void* mapped = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || path.size() >= sizeof image_path) {
        return std::unexpected("no memory for " + path);
    }
    LoadedLibrary library;
    library.address_ = address_of_data(mapped);
    const auto placed = place_image(*image, library.address_, find_import);
    if (!placed) {
        return std::unexpected(path + ": " + placed.error());
    }
    const std::span memory(static_cast<std::byte*>(mapped), kRoom);
    std::ranges::copy(*placed, memory.begin());
    for (const auto& segment : image->segments) {
        if (!protect(memory, segment)) {
            return std::unexpected("segment '" + segment.name + "' cannot be protected");
        }
    }
    image_address = library.address_;
    image_size = placed->size();
    std::memcpy(image_path, path.c_str(), path.size() + 1);
    library.image_ = std::move(*image);
    return library;
}

void LoadedLibrary::run_initialisers() const {
    static char name[] = "program";
    static char* arguments[] = {name, nullptr};
    for (const auto initialiser : image_.initialisers) {
        function_at<void(int, char**, char**, char**)>(address_ + initialiser)(1, arguments,
                                                                               environ, nullptr);
    }
}

id LoadedLibrary::call(const std::string& function) const {
    const auto found = std::ranges::find(image_.interposed, "_" + function, &Interposed::original);
    const auto address = found == image_.interposed.end() ? find_import("_" + function)
                                                          : address_ + found->replacement_offset;
    id observer = nullptr;
    return function_at<id(id*, id)>(address)(&observer, nullptr);
}

} // namespace emulation
