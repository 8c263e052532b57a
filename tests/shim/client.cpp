// SPDX-License-Identifier: MIT
//
// A Metal program for the shim's tests. It prints one line with what its device answers, or what
// its environment holds. Built twice: with Metal from the start, and to load it when it is told to.
#include "answers.hpp"
#include "runtime.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#if defined(CLIENT_IS_LINKED)
// NOLINTBEGIN(readability-identifier-naming): Metal's names
extern "C" id MTLCreateSystemDefaultDevice();
extern "C" id MTLCopyAllDevices();
extern "C" id MTLCopyAllDevicesWithObserver(id* observer, id handler);
// NOLINTEND(readability-identifier-naming)
#endif

// NOLINTBEGIN(cppcoreguidelines-pro-bounds-pointer-arithmetic): the vectors that main is given
namespace {

using metalrun::shim::Family;
using metalrun::shim::send;
using metalrun::shim::Size;

constexpr std::size_t kThreads = 2;

id create_device() {
#if defined(CLIENT_IS_LINKED)
    return MTLCreateSystemDefaultDevice();
#else
    const auto create =
        metalrun::shim::find_function<id()>(RTLD_DEFAULT, "MTLCreateSystemDefaultDevice");
    return create == nullptr ? nullptr : create();
#endif
}

id first_of_all_devices() {
#if defined(CLIENT_IS_LINKED)
    return send<id>(MTLCopyAllDevices(), "objectAtIndex:", Size{0});
#else
    return nullptr;
#endif
}

id last_of_all_devices() {
#if defined(CLIENT_IS_LINKED)
    const auto devices = MTLCopyAllDevices();
    return send<id>(devices, "objectAtIndex:", send<Size>(devices, "count") - 1);
#else
    return nullptr;
#endif
}

id first_of_observed_devices() {
#if defined(CLIENT_IS_LINKED)
    id observer = nullptr;
    return send<id>(MTLCopyAllDevicesWithObserver(&observer, nullptr), "objectAtIndex:", Size{0});
#else
    return nullptr;
#endif
}

/// As another part of Metal makes it: not by the function that the program sees.
id device_inside() {
    const auto library = dlopen("libsimmetal.so", RTLD_NOW | RTLD_NOLOAD);
    return metalrun::shim::find_function<id()>(library, "MTLCreateSystemDefaultDevice")();
}

/// One more of the class of the first.
id second_device() {
    return send<id>(class_createInstance(object_getClass(create_device()), 0), "init");
}

std::string answers_of(id device) {
    if (device == nullptr) {
        return "no device";
    }
    return shim_test::render_answers(
        [device](Family family) { return send<BOOL>(device, "supportsFamily:", family) != NO; },
        [device](const char* selector) { return send<Size>(device, selector); },
        send<BOOL>(device, "requiresBFloat16Emulation") != NO);
}

/// The threads leave the barrier together and each make a device.
int print_from_threads() {
    std::atomic<std::size_t> waiting{kThreads};
    std::vector<std::string> lines(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (auto& line : lines) {
        threads.emplace_back([&waiting, &line] {
            --waiting;
            while (waiting != 0) {
            }
            line = answers_of(create_device());
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::puts(lines[0] == lines[1] ? lines[0].c_str() : (lines[0] + " / " + lines[1]).c_str());
    return 0;
}

bool is_of_interest(std::string_view entry) {
    return entry.starts_with("LUME_METAL_") || entry.starts_with("METALRUN_") ||
           entry.starts_with("LD_PRELOAD=") || entry.starts_with("OTHER=");
}

void print_entries(const char* title, char** vector) {
    std::printf("%s:\n", title);
    for (char** entry = vector; *entry != nullptr; ++entry) {
        if (is_of_interest(*entry)) {
            std::printf("  %s\n", *entry);
        }
    }
}

/// Starts this program again with the vector it was given itself, as programs written in Go do.
int print_from_child(char** arguments, char** vector) {
    static_cast<void>(std::fflush(stdout));
    const pid_t child = fork();
    if (child == 0) {
        static char mode[] = "environment";
        char* argv[] = {arguments[0], mode, nullptr};
        execve(arguments[0], argv, vector);
        _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}

int print_errno() {
    errno = 4711;
    const auto device = create_device();
    std::printf("errno %s\n", device != nullptr && errno == 4711 ? "kept" : "changed");
    return 0;
}

} // namespace

int main(int argc, char** argv, char** envp) {
    const std::string_view mode = argc > 1 ? argv[1] : "default";
    if (mode == "late") {
        if (argc < 3 || dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
            return 2;
        }
    }
    if (mode == "threads") {
        return print_from_threads();
    }
    if (mode == "environment") {
        print_entries("environ", environ);
        print_entries("original", envp);
        return 0;
    }
    if (mode == "child") {
        return print_from_child(argv, envp);
    }
    if (mode == "errno") {
        return print_errno();
    }
    const auto device = mode == "second"     ? second_device()
                        : mode == "inside"   ? device_inside()
                        : mode == "last"     ? last_of_all_devices()
                        : mode == "all"      ? first_of_all_devices()
                        : mode == "observed" ? first_of_observed_devices()
                                             : create_device();
    std::puts(answers_of(device).c_str());
    return 0;
}
// NOLINTEND(cppcoreguidelines-pro-bounds-pointer-arithmetic)
