// SPDX-License-Identifier: MIT
//
// What happens in the target: the constructor reads the settings and places one hook; the class of
// each new device is then changed. On any doubt the process stays stock, and the receipt says why.
#include "environment.hpp"
#include "receipt.hpp"
#include "settings.hpp"
#include "swizzle.hpp"

using namespace metalrun::shim;

namespace {

METALRUN_MARK;

constinit char receipt_path[1024]{}; // a copy, for the target may overwrite its environment

void report(const Record& record) noexcept {
    append_record(receipt_path, record);
    if (settings.verbose) {
        write_record(STDERR_FILENO, record);
    }
}

/// Nothing if there is no problem.
void report_problem(const char* problem) noexcept {
    if (problem != nullptr) {
        Record record("stock");
        record.text("reason", problem);
        report(record);
    }
}

/// Adds an answer before and after, if it was to be changed.
void add_answer(Record& record, id device, DeviceMethod method, const char* stock_key,
                const char* given_key) noexcept {
    if (settings.at_least[method] != 0) {
        const auto [stock, given] = answers_of(device, method);
        record.number(stock_key, stock);
        record.number(given_key, given);
    }
}

/// Early, the device is half made: its base class can answer for families by now, but asking for a
/// name or a limit could reach parts of the driver's class that do not exist yet.
void report_active(id device, bool is_finished) noexcept {
    Record record("active");
    record.text("class", class_getName(object_getClass(device)));
    record.number("ceiling", settings.at_least[supports_family]);
    add_answer(record, device, supports_family, "family_stock", "family_given");
    if (is_finished) {
        const auto* name = send<const char*>(send<id>(device, "name"), "UTF8String");
        record.text("device", name == nullptr ? "" : name);
        add_answer(record, device, threadgroup_memory, "threadgroup_stock", "threadgroup_given");
        add_answer(record, device, working_set, "working_set_stock", "working_set_given");
    }
    report(record);
}

void patch_class_of(id device) noexcept {
    const ErrnoKeeper keeper;
    const PatchResult result = patch_device_class(object_getClass(device));
    report_problem(result.problem);
    if (result.changed && result.active && !settings.late) {
        report_active(device, false);
    }
}

/// Each finished device passes here on its way to the target.
id hand_out(id device) noexcept {
    if (device != nullptr && settings.problem == nullptr) {
        const ErrnoKeeper keeper;
        if (settings.late) {
            patch_class_of(device);
        }
        if (claim_description(object_getClass(device))) {
            report_active(device, true); // the first of its class
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

/// Places the early hook, if it is wanted and the base class is there.
void hook_base_class() noexcept {
    const auto base = objc_lookUpClass("_MTLDevice");
    if (base != nullptr && !settings.late && settings.problem == nullptr) {
        report_problem(hook_initialiser(base, &patch_class_of));
    }
}

const char* variable(const char* name) noexcept {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): there is one thread
    return value == nullptr ? "" : value;
}

[[gnu::constructor]] void start(int, char**, char** original_environment) noexcept {
    const ErrnoKeeper keeper;
    settings = read_settings(&variable);
    const char* path = variable("METALRUN_RECEIPT");
    // Absolute, for the target may change its folder.
    if (*path == '/' && std::strlen(path) < sizeof receipt_path) {
        std::memcpy(receipt_path, path, std::strlen(path) + 1);
    }
    if (settings.stock_children) {
        *_NSGetEnviron() = remove_shim(*_NSGetEnviron(), &is_this_library);
        remove_shim(original_environment, &is_this_library); // the same one, or shares strings
    }
    Record loaded("loaded");
    loaded.text("hook", settings.late ? "late" : "early");
    loaded.text("children", settings.stock_children ? "stock" : "inherit");
    report(loaded);
    report_problem(settings.problem);
    if (settings.problem == nullptr && objc_lookUpClass("_MTLDevice") == nullptr) {
        report_problem("class '_MTLDevice' is not in this process");
        watch_class_loads(&hook_base_class);
    }
    hook_base_class();
}

} // namespace

// The late hook, and the last step of the early one.
// NOLINTBEGIN(readability-identifier-naming): Metal's names
METALRUN_INTERPOSE(MTLCreateSystemDefaultDevice, hand_out, (), ());
METALRUN_INTERPOSE(MTLCopyAllDevices, hand_out_all, (), ());
METALRUN_INTERPOSE(MTLCopyAllDevicesWithObserver, hand_out_all, (id * observer, id handler),
                   (observer, handler));
// NOLINTEND(readability-identifier-naming)
