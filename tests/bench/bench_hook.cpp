// SPDX-License-Identifier: MIT
//
// What the shim costs on the simulated device: nanoseconds per supportsFamily:, original and
// hooked, and microseconds to load the library (an upper bound of its constructor). A program to
// run by hand; each arm is a child of its own, and the arms take turns.
#include "runtime.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

extern "C" id MTLCreateSystemDefaultDevice(); // NOLINT(readability-identifier-naming): Metal's name

// NOLINTBEGIN(concurrency-mt-unsafe,cert-err33-c): there is one thread, and stderr is all there is
namespace {

using metalrun::shim::as_function;
using metalrun::shim::Family;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;
constexpr int kCalls = 2'000'000;

struct Sample {
    double nanoseconds_per_call = 0;
    double microseconds_to_load = 0;
};

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
    int yes = 0;
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) {
        yes += implementation(device, selector, 1005 + (call & 1)) != NO ? 1 : 0;
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    sample.nanoseconds_per_call = taken.count() / kCalls;
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

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace
// NOLINTEND(concurrency-mt-unsafe,cert-err33-c)

int main() {
    std::vector<double> stock;
    std::vector<double> hooked;
    std::vector<double> empty_load;
    std::vector<double> shim_load;
    for (int round = 0; round < kRounds; ++round) {
        const Sample without = measure_in_child(false);
        const Sample with = measure_in_child(true);
        stock.push_back(without.nanoseconds_per_call);
        hooked.push_back(with.nanoseconds_per_call);
        empty_load.push_back(without.microseconds_to_load);
        shim_load.push_back(with.microseconds_to_load);
    }
    std::printf("supportsFamily: original    %7.2f ns (medians of %d)\n", median(stock), kRounds);
    std::printf("supportsFamily: hooked      %7.2f ns (%+.2f; goal: at most +5)\n", median(hooked),
                median(hooked) - median(stock));
    std::printf("load of an empty library    %7.1f us\n", median(empty_load));
    std::printf("load of the shim            %7.1f us (%+.1f; goal for the constructor: 100)\n",
                median(shim_load), median(shim_load) - median(empty_load));
    return 0;
}
