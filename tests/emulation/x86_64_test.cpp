// SPDX-License-Identifier: MIT
//
// The x86-64 shim as cross-built for macOS, executed by this processor: mapped into a fresh child
// process for each case, its imports bound to glibc, to GNU's Objective-C runtime and to the
// simulated Metal. Held to the same table as the native shim.
#include "../shim/answers.hpp"
#include "../shim/cases.hpp"
#include "../shim/process.hpp"
#include "../shim/shapes.hpp"
#include "expected.hpp"
#include "files.hpp"
#include "in_process.hpp"
#include "runtime.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace emulation;
using namespace shim_test;
using metalrun::shim::Family;
using metalrun::shim::send;
using metalrun::shim::Size;

extern "C" void metalrun_give_shape(int number); // tests/shim/shape_library.cpp
extern "C" id MTLCreateSystemDefaultDevice();    // NOLINT(readability-identifier-naming): Metal's

namespace {

constexpr const char* kRung = "x86-64 machine code in-process";
constexpr int kUntouchedErrno = 71;

/// The path, and how its pointers are to be set.
struct Library {
    std::string path;
    const char* fixups;
};

std::vector<Library> libraries() {
    return {{library_path("METALRUN_MACOS_X86_64_SHIM", X86_64_SHIM), "chained"},
            {library_path("METALRUN_MACOS_X86_64_SHIM_CLASSIC", X86_64_SHIM_CLASSIC), "classic"}};
}

/// The other ways come to the same: the shim itself has linked Metal.
id make_device(const LoadedLibrary& shim, Way way) {
    if (way == Way::inside) {
        return MTLCreateSystemDefaultDevice();
    }
    if (way == Way::all) {
        const auto devices = shim.call("MTLCopyAllDevices");
        return send<id>(devices, "objectAtIndex:", Size{0});
    }
    if (way == Way::observed) {
        const auto devices = shim.call("MTLCopyAllDevicesWithObserver");
        return send<id>(devices, "objectAtIndex:", Size{0});
    }
    return shim.call("MTLCreateSystemDefaultDevice");
}

std::string ask(const LoadedLibrary& shim, Way way, std::optional<Shape> shape = {}) {
    errno = kUntouchedErrno;
    auto device = make_device(shim, way);
    if (shape == Shape::two_devices) {
        device = send<id>(class_createInstance(object_getClass(device), 0), "init");
    }
    if (errno != kUntouchedErrno) {
        return "errno changed";
    }
    if (device == nullptr) {
        return "no device";
    }
    return render_answers(
        [device](Family asked) { return send<BOOL>(device, "supportsFamily:", asked) != NO; },
        [device](const char* selector) { return send<Size>(device, selector); },
        send<BOOL>(device, "requiresBFloat16Emulation") != NO);
}

std::string ask_from_threads(const LoadedLibrary& shim) {
    std::string first;
    std::string second;
    std::thread thread([&] { first = ask(shim, Way::linked); });
    second = ask(shim, Way::linked);
    thread.join();
    return first == second ? first : first + " / " + second;
}

std::string environment_as_text() {
    std::string text;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): a null pointer ends it
    for (char** entry = environ; *entry != nullptr; ++entry) {
        text.append(*entry).append("\n");
    }
    return text;
}

/// Runs in the child: what a program with the shim in it would print.
std::string run_program(const Library& library, Way way, std::optional<Shape> shape) {
    if (shape) {
        metalrun_give_shape(static_cast<int>(*shape));
    }
    const auto shim = LoadedLibrary::load(library.path);
    if (!shim) {
        return shim.error();
    }
    errno = kUntouchedErrno;
    shim->run_initialisers();
    if (errno != kUntouchedErrno) {
        return "errno changed";
    }
    return way == Way::threads ? ask_from_threads(*shim) : ask(*shim, way, shape);
}

struct Outcome {
    int status = -1;
    long pid = 0;
    std::string answers;
    std::string environment;
    std::string receipt;
    std::string errors;
};

[[noreturn]] void become(const std::function<void()>& program, std::vector<std::string> entries,
                         const std::string& errors) {
    std::vector<char*> vector;
    for (auto& entry : entries) {
        vector.push_back(entry.data());
    }
    vector.push_back(nullptr);
    environ = vector.data();
    const int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0) {
        _exit(99);
    }
    program();
    _exit(0);
}

Outcome run(const Library& library, std::vector<std::string> environment, Way way = Way::linked,
            mode_t receipt_mode = 0600, std::optional<Shape> shape = {}) {
    const Folder folder;
    const auto receipt = folder.make_receipt();
    REQUIRE(chmod(receipt.c_str(), receipt_mode) == 0);
    const auto answers = folder / "answers";
    const auto left = folder / "environment";
    const auto errors = folder / "errors";
    environment.push_back("METALRUN_RECEIPT=" + receipt);
    static_cast<void>(std::fflush(stdout));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const auto program = [&] {
            std::ofstream(answers) << run_program(library, way, shape);
            std::ofstream(left) << environment_as_text();
        };
        become(program, std::move(environment), errors);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return {.status = status,
            .pid = child,
            .answers = read_file(answers),
            .environment = read_file(left),
            .receipt = read_file(receipt),
            .errors = read_file(errors)};
}

void print(const Library& library, const char* name, const std::string& answers) {
    std::printf("%s, %s: %-38s %s\n", kRung, library.fixups, name, answers.c_str());
}

void check(const Library& library, const Case& row) {
    CAPTURE(row.name);
    const auto outcome = run(library, row.settings, row.way);
    const auto events = events_in(outcome.receipt);
    const auto expected_events = events_of(row, Format::mach_o);
    CHECK(outcome.status == 0);
    CHECK(outcome.answers == row.answers);
    CHECK(events == expected_events);
    CHECK(outcome.errors.empty());
    print_case("x86-64 " + std::string(library.fixups), row.name, outcome.answers,
               outcome.answers == row.answers && events == expected_events);
}

} // namespace

TEST_SUITE("emulation.x86_64") {

    TEST_CASE("the x86-64 machine code gives the answers of the table") {
        const auto cases = all_cases();
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, cases.size())) {
                continue;
            }
            for (const auto& row : cases) {
                check(library, row);
            }
        }
    }

    TEST_CASE("a device of another shape is raised as a whole, or left as it is") {
        const auto cases = shape_cases();
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, cases.size())) {
                continue;
            }
            for (const auto& row : cases) {
                CAPTURE(std::string{row.name});
                if (!is_for_gnu(row.shape)) {
                    std::printf("x86-64 %s  %s: see the other rungs\n", library.fixups, row.name);
                    continue;
                }
                const auto outcome = run(library, settings_of(row), Way::linked, 0600, row.shape);
                const auto events = events_in(outcome.receipt);
                CHECK(outcome.answers == row.answers);
                CHECK(events == row.events);
                print_case(std::string("x86-64 ") + library.fixups, row.name, outcome.answers,
                           outcome.answers == row.answers && events == row.events);
            }
        }
    }

    TEST_CASE("a machine without a device stays without") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 2)) {
                continue;
            }
            for (const std::string hook : {"METALRUN_SHIM_HOOK=early", kLate}) {
                const auto outcome = run(library, {family("1009"), "SIMMETAL_DEVICE=none", hook});
                const auto events = events_in(outcome.receipt);
                CHECK(outcome.answers == "no device");
                CHECK(events == "loaded");
                print(library, hook == kLate ? "no device, late" : "no device, early",
                      outcome.answers);
            }
        }
    }

    TEST_CASE("a record tells the device's name and its answers before and after") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 1)) {
                continue;
            }
            const auto outcome = run(library, {family("1009"), kRaisedSet});
            CHECK(outcome.receipt.ends_with(described_record(outcome.pid)));
            print(library, "the record in full", outcome.answers);
        }
    }

    TEST_CASE("a receipt that others can read is not written") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 1)) {
                continue;
            }
            const auto outcome = run(library, {family("1009")}, Way::linked, 0644);
            CHECK(outcome.answers == kPublished);
            CHECK(outcome.receipt.empty());
            print(library, "receipt of mode 0644", outcome.answers);
        }
    }

    TEST_CASE("verbose, it says on stderr what it did") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 1)) {
                continue;
            }
            const auto outcome = run(library, {family("1009"), "METALRUN_SHIM_VERBOSE=1"});
            const auto events = events_in(outcome.errors);
            CHECK(events == "loaded, active, active");
            print(library, "verbose", outcome.answers);
        }
    }

    TEST_CASE("children stay stock when they are to: dyld's variable and ours are taken out") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 1)) {
                continue;
            }
            const auto outcome = run(library, children_environment(library.path));
            std::string expected;
            for (const auto& entry : kChildrenEnvironment) {
                expected.append(entry).append("\n");
            }
            CHECK(outcome.answers == kPublished);
            CHECK(outcome.environment == expected);
            print(library, "children stay stock", outcome.answers);
        }
    }

} // TEST_SUITE
