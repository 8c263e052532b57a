// SPDX-License-Identifier: MIT
//
// See objective_c.hpp.
#include "objective_c.hpp"

#include <utility>

namespace emulation {

ObjectiveC::ObjectiveC(Machine& machine) : machine_(machine) {
    export_classes();
    export_methods();
}

ObjectiveC::Class ObjectiveC::add_class(const std::string& name, Class superclass) {
    const Class made = machine_.allocate({0});
    classes_[made] = {.name = machine_.allocate(name), .superclass = superclass, .methods = {}};
    names_[name] = made;
    return made;
}

void ObjectiveC::add_method(Class owner, const std::string& selector, const std::string& types,
                            Machine::HostFunction function) {
    auto& added = data(owner).methods.emplace_back(
        Method{.handle = machine_.allocate({0}),
               .selector = selector,
               .types = machine_.allocate(types),
               .implementation = machine_.add_function(std::move(function))});
    methods_[added.handle] = &added;
}

std::uint64_t ObjectiveC::make_object(Class of) {
    return machine_.allocate({of});
}

std::uint64_t ObjectiveC::send(std::uint64_t object, const std::string& selector,
                               std::uint64_t argument) {
    return machine_.call(implementation(object, selector),
                         {object, selector_of(selector), argument});
}

std::size_t ObjectiveC::own_methods(Class of) const {
    return classes_.at(of).methods.size();
}

std::uint64_t ObjectiveC::selector_of(const std::string& name) {
    const auto [found, is_new] = selectors_.try_emplace(name, 0);
    if (is_new) {
        found->second = machine_.allocate(name);
    }
    return found->second;
}

ObjectiveC::ClassData& ObjectiveC::data(Class of) {
    const auto found = classes_.find(of);
    if (found == classes_.end()) {
        throw MachineError("the runtime was given a class that there is not");
    }
    return found->second;
}

ObjectiveC::Method& ObjectiveC::method(std::uint64_t handle) {
    const auto found = methods_.find(handle);
    if (found == methods_.end()) {
        throw MachineError("the runtime was given a method that there is not");
    }
    return *found->second;
}

ObjectiveC::Class ObjectiveC::class_of(std::uint64_t object) const {
    return object == 0 ? 0 : machine_.read_word(object);
}

ObjectiveC::Method* ObjectiveC::find_own(Class of, const std::string& selector) {
    for (auto& candidate : data(of).methods) {
        if (candidate.selector == selector) {
            return &candidate;
        }
    }
    return nullptr;
}

ObjectiveC::Method* ObjectiveC::find(Class of, const std::string& selector) {
    for (; of != 0; of = data(of).superclass) {
        if (auto* found = find_own(of, selector)) {
            return found;
        }
    }
    return nullptr;
}

std::uint64_t ObjectiveC::implementation(std::uint64_t object, const std::string& selector) {
    const auto* found = find(class_of(object), selector);
    if (found == nullptr) {
        throw MachineError("an object does not answer '" + selector + "'");
    }
    return found->implementation;
}

void ObjectiveC::export_classes() {
    machine_.export_function("_objc_lookUpClass", [this](Machine& m) {
        const auto found = names_.find(m.text(m.argument(0)));
        m.answer(found == names_.end() ? 0 : found->second);
    });
    machine_.export_function("_sel_registerName",
                             [this](Machine& m) { m.answer(selector_of(m.text(m.argument(0)))); });
    machine_.export_function("_object_getClass",
                             [this](Machine& m) { m.answer(class_of(m.argument(0))); });
    machine_.export_function("_class_getName",
                             [this](Machine& m) { m.answer(data(m.argument(0)).name); });
    machine_.export_function("_class_getSuperclass",
                             [this](Machine& m) { m.answer(data(m.argument(0)).superclass); });
    machine_.export_function("_objc_msgSend", [this](Machine& m) {
        if (m.argument(0) == 0) {
            m.answer(0);
        } else {
            m.jump(implementation(m.argument(0), m.text(m.argument(1))));
        }
    });
}

void ObjectiveC::export_methods() {
    machine_.export_function("_class_getInstanceMethod", [this](Machine& m) {
        const auto* found = find(m.argument(0), m.text(m.argument(1)));
        m.answer(found == nullptr ? 0 : found->handle);
    });
    machine_.export_function("_class_addMethod", [this](Machine& m) {
        const auto selector = m.text(m.argument(1));
        if (find_own(m.argument(0), selector) != nullptr || selector == cannot_be_added_) {
            m.answer(0);
            return;
        }
        auto& added = data(m.argument(0))
                          .methods.emplace_back(Method{.handle = m.allocate({0}),
                                                       .selector = selector,
                                                       .types = m.argument(3),
                                                       .implementation = m.argument(2)});
        methods_[added.handle] = &added;
        m.answer(1);
    });
    machine_.export_function("_method_getImplementation", [this](Machine& m) {
        m.answer(method(m.argument(0)).implementation);
    });
    machine_.export_function("_method_getTypeEncoding",
                             [this](Machine& m) { m.answer(method(m.argument(0)).types); });
    machine_.export_function("_method_setImplementation", [this](Machine& m) {
        auto& changed = method(m.argument(0));
        m.answer(std::exchange(changed.implementation, m.argument(1)));
    });
}

} // namespace emulation
