// SPDX-License-Identifier: MIT
//
// The arm64 shim as cross-built for macOS: its constructor and its replacements are executed by an
// emulated processor, against stand-ins for libSystem, the Objective-C runtime and Metal. Held to
// the same table as the native shim.
#include "../shim/answers.hpp"
#include "../shim/cases.hpp"
#include "../shim/process.hpp"
#include "../shim/shapes.hpp"
#include "expected.hpp"
#include "files.hpp"
#include "libsystem.hpp"
#include "loader.hpp"
#include "machine.hpp"
#include "metal.hpp"
#include "objective_c.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace emulation;
using namespace shim_test;

namespace {

constexpr const char* kRung = "arm64 machine code under emulation";
constexpr int kUntouchedErrno = 71;

/// The path, and how its pointers are to be set.
struct Library {
    std::string path;
    const char* fixups;
};

std::vector<Library> libraries() {
    return {{library_path("METALRUN_MACOS_ARM64_SHIM", ARM64_SHIM), "chained"},
            {library_path("METALRUN_MACOS_ARM64_SHIM_CLASSIC", ARM64_SHIM_CLASSIC), "classic"}};
}

struct Start {
    std::vector<std::string> environment;
    Deviation deviation = Deviation::none;
    std::optional<Shape> shape = {};
};

/// A process with the shim in it, from its start on.
class Process {
public:
    Process(const Library& library, const Start& start)
        : image_(read(library.path)), system_(machine_, start.environment, library.path),
          runtime_(machine_), metal_(machine_, runtime_, start.deviation, start.shape) {
        machine_.load(image_);
        system_.set_guest_errno(kUntouchedErrno);
        const auto name = machine_.allocate("/usr/local/bin/program");
        const auto arguments = machine_.allocate({name, 0});
        for (const auto initialiser : image_.initialisers) {
            machine_.call(machine_.address_of(initialiser),
                          {1, arguments, system_.environment_vector(), 0});
        }
    }

    /// Calls a function of Metal as dyld binds it for every image but the shim.
    std::uint64_t call(const std::string& function) {
        const auto found =
            std::ranges::find(image_.interposed, "_" + function, &Interposed::original);
        const auto address = found == image_.interposed.end()
                                 ? metal_.function(function)
                                 : machine_.address_of(found->replacement_offset);
        return machine_.call(address, {machine_.allocate({1}), 0});
    }

    /// The other ways come to the same: the shim itself has linked Metal.
    std::uint64_t device(Way way) {
        if (way == Way::inside) {
            return machine_.call(metal_.function("MTLCreateSystemDefaultDevice"), {});
        }
        if (way == Way::all) {
            return runtime_.send(call("MTLCopyAllDevices"), "objectAtIndex:");
        }
        if (way == Way::observed) {
            return runtime_.send(call("MTLCopyAllDevicesWithObserver"), "objectAtIndex:");
        }
        return call("MTLCreateSystemDefaultDevice");
    }

    std::string answers(Way way) {
        const auto object = device(way);
        if (object == 0) {
            return "no device";
        }
        return render_answers(
            [&](long asked) {
                const auto number = static_cast<std::uint64_t>(asked);
                return (runtime_.send(object, "supportsFamily:", number) & 0xffU) != 0;
            },
            [&](const char* selector) {
                return runtime_.responds(object, selector) ? runtime_.send(object, selector) : 0;
            },
            metal_.emulates_bfloat16());
    }

    /// Makes another device; the next one that is asked is that one.
    void make_another(Way way) {
        static_cast<void>(device(way));
        metal_.forget_device();
    }

    [[nodiscard]] const LibSystem& system() const { return system_; }
    [[nodiscard]] const Image& image() const { return image_; }

private:
    static Image read(const std::string& path) {
        auto image = read_image(path, Cpu::arm64);
        if (!image) {
            throw MachineError(path + ": " + image.error());
        }
        return std::move(*image);
    }

    Image image_;
    Machine machine_;
    LibSystem system_;
    ObjectiveC runtime_;
    Metal metal_;
};

void print(const Library& library, const char* name, const std::string& answers) {
    std::printf("%s, %s: %-38s %s\n", kRung, library.fixups, name, answers.c_str());
}

struct Outcome {
    std::string answers;
    std::string receipt;
    std::string errors;
    std::vector<std::string> environment;
};

/// A whole run: the process starts, makes a device, and asks it.
Outcome run(const Library& library, Start start, Way way = Way::linked,
            mode_t receipt_mode = 0600) {
    const Folder folder;
    const auto receipt = folder.make_receipt();
    REQUIRE(chmod(receipt.c_str(), receipt_mode) == 0);
    start.environment.push_back("METALRUN_RECEIPT=" + receipt);
    Process process(library, start);
    if (start.shape == Shape::two_devices) {
        process.make_another(way);
    }
    const auto answers = process.answers(way);
    CHECK(process.system().guest_errno() == kUntouchedErrno);
    return {.answers = answers,
            .receipt = read_file(receipt),
            .errors = process.system().errors(),
            .environment = process.system().environment()};
}

void check(const Library& library, const Case& row) {
    CAPTURE(row.name);
    const auto outcome = run(library, {.environment = row.settings}, row.way);
    const auto events = events_in(outcome.receipt);
    const auto expected_events = events_of(row, Format::mach_o);
    CHECK(outcome.answers == row.answers);
    CHECK(events == expected_events);
    CHECK(outcome.errors.empty());
    print_case("arm64 " + std::string(library.fixups), row.name, outcome.answers,
               outcome.answers == row.answers && events == expected_events);
}

/// A Metal that is not as the shim expects it.
struct Deviating {
    const char* name;
    Deviation deviation;
    std::vector<std::string> settings;
    const char* answers;
    std::string events;
};

std::vector<Deviating> deviating_cases() {
    const std::vector<std::string> early{family("1009")};
    const std::vector<std::string> late{family("1009"), kLate};
    const std::string loaded = "loaded";
    const std::string missing = loaded + ", " + kMissing;
    const std::string refused =
        loaded + ", stock: a method of the device class is missing or has another type";
    return {
        {"no device, early", Deviation::no_device, early, "no device", loaded},
        {"no device, late", Deviation::no_device, late, "no device", loaded},
        {"no base class, early", Deviation::no_base_class, early, kStock, missing},
        {"no base class, late", Deviation::no_base_class, late, kPublishedLate,
         missing + ", active"},
        {"another type, early", Deviation::other_types, early, kStock, refused},
        {"another type, late", Deviation::other_types, late, kStock, refused},
    };
}

} // namespace

TEST_SUITE("emulation.arm64") {

    TEST_CASE("the arm64 machine code gives the answers of the table") {
        const auto cases = all_cases();
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, cases.size())) {
                continue;
            }
            for (const auto& row : cases) {
                if (row.way == Way::threads) { // the processor is one
                    std::printf("arm64 %s  %s: not run, the processor is one\n", library.fixups,
                                row.name.c_str());
                } else {
                    check(library, row);
                }
            }
        }
    }

    TEST_CASE("a Metal that is not as expected is left as it is") {
        const auto cases = deviating_cases();
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, cases.size())) {
                continue;
            }
            for (const auto& row : cases) {
                CAPTURE(std::string{row.name});
                const auto outcome =
                    run(library, {.environment = row.settings, .deviation = row.deviation});
                const auto events = events_in(outcome.receipt);
                CHECK(outcome.answers == row.answers);
                CHECK(events == row.events);
                CHECK(outcome.errors.empty());
                print(library, row.name, outcome.answers);
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
                const auto outcome =
                    run(library, {.environment = settings_of(row), .shape = row.shape});
                const auto events = events_in(outcome.receipt);
                CHECK(outcome.answers == row.answers);
                CHECK(events == row.events);
                CHECK(outcome.errors.empty());
                print_case(std::string("arm64 ") + library.fixups, row.name, outcome.answers,
                           outcome.answers == row.answers && events == row.events);
            }
        }
    }

    TEST_CASE("a record tells the device's name and its answers before and after") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 1)) {
                continue;
            }
            const auto outcome = run(library, {.environment = {family("1009"), kRaisedSet}});
            CHECK(outcome.receipt.ends_with(described_record(getpid())));
            print(library, "the record in full", outcome.answers);
        }
    }

    TEST_CASE("a receipt that others can read is not written") {
        for (const auto& library : libraries()) {
            if (!is_there(library.path, kRung, 1)) {
                continue;
            }
            const auto outcome = run(library, {.environment = {family("1009")}}, Way::linked, 0644);
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
            const auto outcome =
                run(library, {.environment = {family("1009"), "METALRUN_SHIM_VERBOSE=1"}});
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
            const auto outcome = run(library, {.environment = children_environment(library.path)});
            CHECK(outcome.answers == kPublished);
            CHECK(outcome.environment == kChildrenEnvironment);
            print(library, "children stay stock", outcome.answers);
        }
    }

} // TEST_SUITE
