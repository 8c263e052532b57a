// SPDX-License-Identifier: MIT
//
// What happens in the target: the constructor reads the settings and places one hook; the class of
// each new device is then changed. On any doubt the process stays stock, and the receipt says why.
#include "environment.hpp"
#include "receipt.hpp"
#include "runtime.hpp"
#include "settings.hpp"
#include "swizzle.hpp"

#include <cstdlib>
#include <cstring>

#include <unistd.h>

// NOLINTBEGIN(readability-identifier-naming): Metal's names
extern "C" {
id MTLCreateSystemDefaultDevice();
id MTLCopyAllDevices();
id MTLCopyAllDevicesWithObserver(id* observer, id handler);
}
// NOLINTEND(readability-identifier-naming)

namespace metalrun::shim {
namespace {

METALRUN_MARK;

constinit Settings settings{};
constinit char receipt_path[1024]{}; // a copy, for the target may overwrite its environment

void report(const Record& record) noexcept {
    if (receipt_path[0] == '/') { // the target may change its folder
        append_record(receipt_path, record);
    }
    if (settings.verbose) {
        static_cast<void>(write(STDERR_FILENO, record.data(), record.size()) == 0);
    }
}

void report_stock(const char* reason) noexcept {
    Record record("stock");
    record.text("reason", reason);
    report(record);
}

Record make_active_record(id device) noexcept {
    Record record("active");
    const auto [stock, given] = answers_of(device, supports_family);
    record.text("class", class_getName(object_getClass(device)));
    record.number("ceiling", settings.ceiling);
    record.number("family_stock", stock);
    record.number("family_given", given);
    return record;
}

void patch_class_of(id device) noexcept {
    const PatchResult result = patch_device_class(object_getClass(device));
    if (result.problem != nullptr) {
        report_stock(result.problem);
    }
    // Early, the device is half made: its base class can answer for families by now, but asking for
    // a name or a limit could reach parts of the driver's class that do not exist yet.
    if (result.changed && result.active && settings.hook == Hook::early) {
        report(make_active_record(device));
    }
}

void patch_initialised(id device) noexcept {
    const ErrnoKeeper keeper;
    patch_class_of(device);
}

/// Reports a finished device, the first of its class, with all answers before and after.
void describe(id device) noexcept {
    Record record = make_active_record(device);
    const auto name = send<id>(device, "name"); // an NSString
    const char* text = name == nullptr ? nullptr : send<const char*>(name, "UTF8String");
    record.text("device", text == nullptr ? "" : text);
    if (settings.threadgroup_memory != 0) {
        const auto [stock, given] = answers_of(device, threadgroup_memory);
        record.number("threadgroup_stock", stock);
        record.number("threadgroup_given", given);
    }
    if (settings.working_set != 0) {
        const auto [stock, given] = answers_of(device, working_set);
        record.number("working_set_stock", stock);
        record.number("working_set_given", given);
    }
    report(record);
}

/// Each finished device passes here on its way to the target.
id hand_out(id device) noexcept {
    if (device != nullptr && settings.problem == nullptr && settings.ceiling != 0) {
        const ErrnoKeeper keeper;
        if (settings.hook == Hook::late) {
            patch_class_of(device);
        }
        if (claim_description(object_getClass(device))) {
            describe(device);
        }
    }
    return device;
}

id hand_out_all(id devices) noexcept {
    const Size count = devices == nullptr ? 0 : send<Size>(devices, "count");
    for (Size index = 0; index < count; ++index) {
        hand_out(send<id>(devices, "objectAtIndex:", index));
    }
    return devices;
}

/// Places the early hook if the base class is there.
void hook_base_class() noexcept {
    const auto base = objc_lookUpClass("_MTLDevice");
    if (base != nullptr && settings.hook == Hook::early) {
        const char* problem = hook_initialiser(base, &patch_initialised);
        if (problem != nullptr) {
            report_stock(problem);
        }
    }
}

const char* variable(const char* name) noexcept {
    return std::getenv(name); // NOLINT(concurrency-mt-unsafe): the target has not begun
}

void read_settings() noexcept {
    settings = parse_settings({.family = variable("LUME_METAL_APPLE_FAMILY_MAX"),
                               .threadgroup_memory = variable("LUME_METAL_MAX_THREADGROUP_MEMORY"),
                               .working_set = variable("LUME_METAL_RECOMMENDED_WORKING_SET_SIZE"),
                               .hook = variable("METALRUN_SHIM_HOOK"),
                               .children = variable("METALRUN_SHIM_CHILDREN"),
                               .verbose = variable("METALRUN_SHIM_VERBOSE")});
    const char* path = variable("METALRUN_RECEIPT");
    if (path != nullptr && std::strlen(path) < sizeof receipt_path) {
        std::memcpy(receipt_path, path, std::strlen(path) + 1);
    }
}

[[gnu::constructor]] void start(int, char**, char** original_environment) noexcept {
    const ErrnoKeeper keeper;
    read_settings();
    if (settings.children == Children::stock) {
        remove_shim(original_environment, &is_this_library);
        remove_shim(current_environment(), &is_this_library);
    }
    Record loaded("loaded");
    loaded.text("hook", settings.hook == Hook::late ? "late" : "early");
    loaded.text("children", settings.children == Children::stock ? "stock" : "inherit");
    report(loaded);
    if (settings.problem != nullptr) {
        report_stock(settings.problem);
        return;
    }
    set_answers(
        {.at_least = {settings.ceiling, settings.threadgroup_memory, settings.working_set}});
    if (objc_lookUpClass("_MTLDevice") == nullptr) {
        report_stock("class '_MTLDevice' is not in this process");
        watch_class_loads(&hook_base_class);
    }
    hook_base_class();
}

} // namespace
} // namespace metalrun::shim

extern "C" {

METALRUN_REPLACEMENT(MTLCreateSystemDefaultDevice)() {
    const auto original = METALRUN_ORIGINAL(MTLCreateSystemDefaultDevice);
    return original == nullptr ? nullptr : metalrun::shim::hand_out(original());
}
METALRUN_INTERPOSE(MTLCreateSystemDefaultDevice);

METALRUN_REPLACEMENT(MTLCopyAllDevices)() {
    const auto original = METALRUN_ORIGINAL(MTLCopyAllDevices);
    return original == nullptr ? nullptr : metalrun::shim::hand_out_all(original());
}
METALRUN_INTERPOSE(MTLCopyAllDevices);

METALRUN_REPLACEMENT(MTLCopyAllDevicesWithObserver)(id* observer, id handler) {
    const auto original = METALRUN_ORIGINAL(MTLCopyAllDevicesWithObserver);
    return original == nullptr ? nullptr
                               : metalrun::shim::hand_out_all(original(observer, handler));
}
METALRUN_INTERPOSE(MTLCopyAllDevicesWithObserver);
}
