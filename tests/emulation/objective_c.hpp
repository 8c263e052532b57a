// SPDX-License-Identifier: MIT
//
// As much of Apple's Objective-C runtime as the shim imports, for the emulated processor. Classes
// and methods are tables of the host, which the guest knows by addresses; methods are functions of
// the guest or of the host.
#pragma once

#include "machine.hpp"

#include <cstdint>
#include <initializer_list>
#include <list>
#include <map>
#include <string>

namespace emulation {

class ObjectiveC {
public:
    using Class = std::uint64_t; ///< the guest's address; 0: none

    /// Exports its functions from the machine.
    explicit ObjectiveC(Machine& machine);
    ObjectiveC(const ObjectiveC&) = delete;
    ObjectiveC& operator=(const ObjectiveC&) = delete;

    Class add_class(const std::string& name, Class superclass);
    void add_method(Class owner, const std::string& selector, const std::string& types,
                    Machine::HostFunction function);
    [[nodiscard]] std::uint64_t make_object(Class of);
    /// Sends a message as the program would; a method that is missing is an error.
    std::uint64_t send(std::uint64_t object, const std::string& selector,
                       std::uint64_t argument = 0);
    /// Whether the object has a method for it.
    [[nodiscard]] bool responds(std::uint64_t object, const std::string& selector) {
        return find(class_of(object), selector) != nullptr;
    }
    /// From now on that selector cannot be added to a class, as if there were no memory.
    void fail_to_add(const std::string& selector) { cannot_be_added_ = selector; }
    /// What the method of that class runs.
    [[nodiscard]] std::uint64_t implementation_in(Class of, const std::string& selector) {
        return find(of, selector)->implementation;
    }
    void set_class(std::uint64_t object, Class of) { machine_.write_word(object, of); }
    /// How many methods the class has itself.
    [[nodiscard]] std::size_t own_methods(Class of) const;

private:
    struct Method {
        std::uint64_t handle = 0;
        std::string selector;
        std::uint64_t types = 0;
        std::uint64_t implementation = 0;
    };
    struct ClassData {
        std::uint64_t name = 0;
        Class superclass = 0;
        std::list<Method> methods;
    };

    void export_classes();
    void export_methods();
    [[nodiscard]] std::uint64_t selector_of(const std::string& name);
    [[nodiscard]] Method* find_own(Class of, const std::string& selector);
    [[nodiscard]] Method* find(Class of, const std::string& selector);
    [[nodiscard]] Class class_of(std::uint64_t object) const;
    [[nodiscard]] ClassData& data(Class of);
    [[nodiscard]] Method& method(std::uint64_t handle);
    [[nodiscard]] std::uint64_t implementation(std::uint64_t object, const std::string& selector);

    Machine& machine_;
    std::map<Class, ClassData> classes_;
    std::map<std::uint64_t, Method*> methods_;
    std::map<std::string, Class> names_;
    std::map<std::string, std::uint64_t> selectors_;
    std::string cannot_be_added_;
};

} // namespace emulation
