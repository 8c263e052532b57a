// SPDX-License-Identifier: MIT
//
// What the shim costs on the simulated device: nanoseconds per supportsFamily:, original and
// hooked; microseconds to load the library (an upper bound of its constructor); microseconds that
// it adds to a program without Metal, from fork to exit; and the allocations after its constructor,
// while a device is made and asked. A program to run by hand; each arm is a child of its own, and
// the arms take turns.
#include "runtime.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" id MTLCreateSystemDefaultDevice(); // NOLINT(readability-identifier-naming): Metal's name

// NOLINTBEGIN(concurrency-mt-unsafe,cert-err33-c): there is one thread, and stderr is all there is
namespace {

using metalrun::shim::as_function;
using metalrun::shim::Family;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;
constexpr int kPairs = 200;
constexpr int kCalls = 2'000'000;

struct Sample {
    double nanoseconds_per_call = 0;
    double microseconds_to_load = 0;
    long allocations_in_hooks = 0; ///< more than the device itself takes
};

constinit long allocations = 0;

/// Measures in this process, with the shim or with a library that does nothing.
Sample measure(bool with_shim) {
    Sample sample;
    setenv("LUME_METAL_APPLE_FAMILY_MAX", "1007", 1);
    const auto start_of_load = Clock::now();
    if (dlopen(with_shim ? SHIM_LIBRARY : EMPTY_LIBRARY, RTLD_NOW) == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        _exit(1);
    }
    const std::chrono::duration<double, std::micro> load = Clock::now() - start_of_load;
    sample.microseconds_to_load = load.count();
    const auto device = MTLCreateSystemDefaultDevice();
    const auto selector = sel_registerName("supportsFamily:");
    const auto implementation = as_function<BOOL(id, SEL, Family)>(
        method_getImplementation(class_getInstanceMethod(object_getClass(device), selector)));
    // What changing the class takes is the Objective-C runtime's, so only asking is counted.
    const long before = allocations;
    int yes = 0;
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) {
        yes += implementation(device, selector, 1005 + (call & 1)) != NO ? 1 : 0;
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    sample.nanoseconds_per_call = taken.count() / kCalls;
    sample.allocations_in_hooks = allocations - before;
    if (yes != (with_shim ? kCalls : kCalls / 2)) {
        std::fprintf(stderr, "unexpected answers\n");
        _exit(1);
    }
    return sample;
}

Sample measure_in_child(bool with_shim) {
    std::array<int, 2> ends{};
    Sample sample;
    if (pipe(ends.data()) != 0) {
        std::exit(1);
    }
    const pid_t child = fork();
    if (child == 0) {
        sample = measure(with_shim);
        _exit(write(ends[1], &sample, sizeof sample) == sizeof sample ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &sample, sizeof sample) != sizeof sample) {
        std::exit(1);
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return sample;
}

/// Microseconds from fork to the end of a program without Metal.
double time_plain(bool with_shim) {
    const char* shim = "LD_PRELOAD=" SHIM_LIBRARY;
    const char* empty = "LD_PRELOAD=" EMPTY_LIBRARY;
    const auto start = Clock::now();
    const pid_t child = fork();
    if (child == 0) {
        std::array<char*, 2> arguments{const_cast<char*>(PLAIN_PROGRAM), nullptr};
        std::array<char*, 3> environment{const_cast<char*>("LUME_METAL_APPLE_FAMILY_MAX=1007"),
                                         const_cast<char*>(with_shim ? shim : empty), nullptr};
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        execve(PLAIN_PROGRAM, arguments.data(), environment.data());
        _exit(1);
    }
    waitpid(child, nullptr, 0);
    const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    return taken.count();
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace
// NOLINTEND(concurrency-mt-unsafe,cert-err33-c)

extern "C" void* __libc_malloc(std::size_t size); // NOLINT: glibc's own, behind the one below

// NOLINTNEXTLINE(misc-use-internal-linkage): every library of this program calls this one
extern "C" void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}

int main() {
    std::vector<double> stock;
    std::vector<double> hooked;
    std::vector<double> empty_load;
    std::vector<double> shim_load;
    long allocated = 0;
    for (int round = 0; round < kRounds; ++round) {
        const Sample without = measure_in_child(false);
        const Sample with = measure_in_child(true);
        stock.push_back(without.nanoseconds_per_call);
        hooked.push_back(with.nanoseconds_per_call);
        empty_load.push_back(without.microseconds_to_load);
        shim_load.push_back(with.microseconds_to_load);
        allocated = std::max(allocated, with.allocations_in_hooks);
    }
    std::vector<double> plain;
    std::vector<double> plain_with_shim;
    for (int pair = 0; pair < kPairs; ++pair) {
        plain.push_back(time_plain(false));
        plain_with_shim.push_back(time_plain(true));
    }
    std::printf("supportsFamily: original    %7.2f ns (medians of %d)\n", median(stock), kRounds);
    std::printf("supportsFamily: hooked      %7.2f ns (%+.2f; goal: at most +5)\n", median(hooked),
                median(hooked) - median(stock));
    std::printf("load of an empty library    %7.1f us\n", median(empty_load));
    std::printf("load of the shim            %7.1f us (%+.1f; goal for the constructor: 100)\n",
                median(shim_load), median(shim_load) - median(empty_load));
    std::printf(
        "program without Metal       %7.1f us with an empty library (medians of %d pairs)\n",
        median(plain), kPairs);
    std::printf("program without Metal       %7.1f us with the shim (%+.1f)\n",
                median(plain_with_shim), median(plain_with_shim) - median(plain));
    std::printf("allocations in %d hooked calls: %ld (goal: 0)\n", kCalls, allocated);
    return 0;
}
