// SPDX-License-Identifier: MIT
//
// See metal.hpp.
#include "metal.hpp"

namespace emulation {

using shim_test::Shape;

Metal::Metal(Machine& machine, ObjectiveC& runtime, Deviation deviation, std::optional<Shape> shape)
    : machine_(machine), runtime_(runtime), deviation_(deviation), shape_(shape) {
    add_device_classes(deviation == Deviation::no_base_class ? "_MTLRenamed" : "_MTLDevice",
                       deviation == Deviation::other_types ? "B24@0:8@16" : "B24@0:8q16");
    add_foundation_classes();
    export_functions();
    give_shape();
}

/// A method that only asks the one of the class above.
void Metal::override_family(ObjectiveC::Class owner, ObjectiveC::Class above) {
    runtime_.add_method(owner, "supportsFamily:", "B24@0:8q16", [this, above](Machine& m) {
        m.jump(runtime_.implementation_in(above, "supportsFamily:"));
    });
}

void Metal::give_shape() {
    const auto [base, middle, concrete] = classes_;
    if (shape_ == Shape::two_levels) {
        override_family(middle, base);
    }
    if (shape_ == Shape::own || shape_ == Shape::two_levels) {
        override_family(concrete, middle);
    }
    if (shape_ == Shape::other_type) {
        runtime_.add_method(concrete, "supportsFamily:", "B24@0:8@16", [this](Machine& m) {
            m.answer(families_.contains(m.argument(2)) ? 1 : 0);
        });
    }
    if (shape_ == Shape::unchangeable) {
        // The concrete class has the memory's method; what it inherits has to be added.
        runtime_.fail_to_add("recommendedMaxWorkingSetSize");
    }
    if (shape_ == Shape::made_before) {
        static_cast<void>(device());
    }
}

std::uint64_t Metal::function(const std::string& name) const {
    return machine_.find("_" + name);
}

void Metal::add_device_classes(const std::string& base_name, const std::string& family_types) {
    constexpr const char* kSize = "Q16@0:8";
    const auto answering = [](std::uint64_t value) {
        return [value](Machine& m) { m.answer(value); };
    };
    const auto base = runtime_.add_class(base_name, 0);
    const auto middle = runtime_.add_class("IOGPUMetalDevice", base);
    const auto concrete = runtime_.add_class("AppleParavirtDevice", middle);
    classes_ = {base, middle, concrete};
    runtime_.add_method(
        base, shape_ == Shape::no_hook ? "initFamilies" : "initGPUFamilySupport", "v16@0:8",
        [this](Machine&) { families_ = {1001, 1002, 1003, 1004, 1005, 3001, 3002, 3003}; });
    runtime_.add_method(base, "supportsFamily:", family_types, [this](Machine& m) {
        m.answer(families_.contains(m.argument(2)) ? 1 : 0);
    });
    runtime_.add_method(base, "maxThreadgroupMemoryLength", kSize, answering(32768));
    if (shape_ != Shape::missing) {
        runtime_.add_method(middle, "recommendedMaxWorkingSetSize", kSize, answering(5010800640));
    }
    runtime_.add_method(concrete, "maxThreadgroupMemoryLength", kSize, answering(32768));
    runtime_.add_method(concrete, "name", "@16@0:8",
                        [this](Machine& m) { m.answer(finished_ == 0 ? 0 : name_); });
}

void Metal::add_foundation_classes() {
    const auto string = runtime_.add_class("NSString", 0);
    const auto name = machine_.allocate("Apple Paravirtual device");
    runtime_.add_method(string, "UTF8String", "*16@0:8", [name](Machine& m) { m.answer(name); });
    name_ = runtime_.make_object(string);
    array_class_ = runtime_.add_class("NSArray", 0);
    runtime_.add_method(array_class_, "count", "Q16@0:8",
                        [this](Machine& m) { m.answer(device() == 0 ? 0 : 1); });
    runtime_.add_method(array_class_, "objectAtIndex:", "@24@0:8Q16",
                        [this](Machine& m) { m.answer(m.argument(2) == 0 ? device() : 0); });
}

void Metal::export_functions() {
    machine_.export_function("_MTLCreateSystemDefaultDevice",
                             [this](Machine& m) { m.answer(device()); });
    machine_.export_function("_MTLCopyAllDevices", [this](Machine& m) {
        static_cast<void>(device());
        m.answer(runtime_.make_object(array_class_));
    });
    machine_.export_function("_MTLCopyAllDevicesWithObserver", [this](Machine& m) {
        const auto observer = m.argument(0);
        static_cast<void>(device());
        m.write_word(observer, 0);
        m.answer(runtime_.make_object(array_class_));
    });
}

std::uint64_t Metal::device() {
    if (device_ == 0 && deviation_ != Deviation::no_device) {
        device_ = runtime_.make_object(classes_[2]);
        runtime_.send(device_, shape_ == Shape::no_hook ? "initFamilies" : "initGPUFamilySupport");
        emulates_bfloat16_ = (runtime_.send(device_, "supportsFamily:", 1009) & 0xffU) == 0;
        if (shape_ == Shape::observed) {
            const auto observed =
                runtime_.add_class("NSKVONotifying_AppleParavirtDevice", classes_[2]);
            runtime_.add_method(observed, "class", "#16@0:8",
                                [this](Machine& m) { m.answer(classes_[2]); });
            runtime_.set_class(device_, observed);
        }
        finished_ = 1;
    }
    return device_;
}

} // namespace emulation
