// SPDX-License-Identifier: MIT
//
// The change of a device class, on classes made for each case. The shim's state is one per process
// and is never taken back, so each case runs in a child and tells what it saw.
#include "swizzle.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace metalrun::shim;

namespace {

constexpr Size kMemory = 32768;
constexpr Size kWorkingSet = 1000;

/// The selector that class_addMethod must fail for, as if there were no memory.
constinit const char* failing_selector = nullptr;

BOOL stock_family_answer(id, SEL, Family family) {
    return (family >= 1001 && family <= 1005) || family == 3003 ? YES : NO;
}
Size stock_memory(id, SEL) {
    return kMemory;
}
Size stock_working_set(id, SEL) {
    return kWorkingSet;
}
void init_stock(id, SEL) {}

struct MethodRow {
    const char* selector;
    IMP implementation;
    const char* types;
};

std::vector<MethodRow> all_methods() {
    return {{"supportsFamily:", as_imp(&stock_family_answer), "B24@0:8q16"},
            {"maxThreadgroupMemoryLength", as_imp(&stock_memory), "Q16@0:8"},
            {"recommendedMaxWorkingSetSize", as_imp(&stock_working_set), "Q16@0:8"},
            {"initGPUFamilySupport", as_imp(&init_stock), "v16@0:8"}};
}

Class make_class(const char* name, Class superclass, const std::vector<MethodRow>& methods) {
    const auto made = objc_allocateClassPair(superclass, name, 0);
    if (superclass == nullptr) { // a root class brings the pointer to the class itself
        class_addIvar(made, "isa", sizeof(Class), 3, "#");
    }
    for (const auto& row : methods) {
        class_addMethod(made, sel_registerName(row.selector), row.implementation, row.types);
    }
    objc_registerClassPair(made);
    return made;
}

id make_device(Class device_class) {
    return class_createInstance(device_class, 0);
}

std::string all_answers(id device) {
    std::string text;
    for (const Family family : {1005, 1007, 1009, 1010, 3003, 5001}) {
        text += send<BOOL>(device, "supportsFamily:", family) != NO ? std::to_string(family) + " "
                                                                    : std::string();
    }
    return text + "memory " + std::to_string(send<Size>(device, "maxThreadgroupMemoryLength")) +
           " set " + std::to_string(send<Size>(device, "recommendedMaxWorkingSetSize"));
}

std::string text_of(const PatchResult& result) {
    return std::string(result.changed ? "changed " : "") + (result.active ? "active" : "stock") +
           (result.problem == nullptr ? "" : std::string(": ") + result.problem);
}

/// Runs the function in a child and gives its text, or how the child ended.
std::string in_child(const std::function<std::string()>& observe) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        return "no pipe";
    }
    static_cast<void>(std::fflush(stdout));
    const pid_t child = fork();
    if (child == 0) {
        const std::string seen = observe();
        _exit(write(ends[1], seen.data(), seen.size()) == static_cast<ssize_t>(seen.size()) ? 0
                                                                                            : 1);
    }
    close(ends[1]);
    std::string seen;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = read(ends[0], buffer.data(), buffer.size())) > 0;) {
        seen.append(buffer.data(), static_cast<std::size_t>(size));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? seen : "the child ended with status " + std::to_string(status);
}

struct Answers {
    Size least[method_count]{};
};
constexpr Answers kPublished{{1009, 65536, 0}};

void set_answers(const Answers& wanted) {
    std::ranges::copy(wanted.least, settings.at_least);
}

constexpr const char* kStock = "1005 3003 memory 32768 set 1000";
constexpr const char* kRaised = "1005 1007 1009 3003 memory 65536 set 1000";

} // namespace

extern "C" BOOL class_addMethod(Class owner, SEL selector, IMP implementation, const char* types) {
    if (failing_selector != nullptr && std::string(sel_getName(selector)) == failing_selector) {
        return NO;
    }
    return find_function<decltype(class_addMethod)>(RTLD_NEXT, "class_addMethod")(
        owner, selector, implementation, types);
}

TEST_SUITE("shim.swizzle") {

    TEST_CASE("inherited methods are overridden in the class itself, its superclass stays stock") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  const auto base = make_class("Base", nullptr, all_methods());
                  const auto device_class = make_class("Device", base, {});
                  const auto device = make_device(device_class);
                  const auto sibling = make_device(make_class("Sibling", base, {}));
                  const auto before = all_answers(device) + all_answers(sibling);
                  const auto result = text_of(patch_device_class(device_class));
                  return (before == std::string(kStock) + kStock ? "stock before; " : before) +
                         result + "; " + all_answers(device) + "; " + all_answers(sibling) + "; " +
                         all_answers(make_device(base));
              }) == std::string("stock before; changed active; ") + kRaised + "; " + kStock + "; " +
                        kStock);
    }

    TEST_CASE("methods of the class itself are replaced") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  const auto device_class = make_class("Device", nullptr, all_methods());
                  const auto device = make_device(device_class);
                  const auto before = all_answers(device);
                  static_cast<void>(patch_device_class(device_class));
                  return before + "; " + all_answers(device);
              }) == std::string(kStock) + "; " + kRaised);
    }

    TEST_CASE("a class is changed once") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  const auto device_class = make_class("Device", nullptr, all_methods());
                  const auto first = text_of(patch_device_class(device_class));
                  const auto second = text_of(patch_device_class(device_class));
                  const bool describe = claim_description(device_class);
                  const bool again = claim_description(device_class);
                  return first + "; " + second + "; " + all_answers(make_device(device_class)) +
                         (describe ? "; describe" : "") + (again ? "; again" : "");
              }) == std::string("changed active; active; ") + kRaised + "; describe");
    }

    TEST_CASE("answers only rise, and only those that were asked for") {
        const auto with = [](const Answers& wanted) {
            return in_child([&wanted] {
                set_answers(wanted);
                const auto device_class = make_class("Device", nullptr, all_methods());
                static_cast<void>(patch_device_class(device_class));
                return all_answers(make_device(device_class));
            });
        };
        CHECK(with({.least = {1003, 1, 1}}) == kStock);
        CHECK(with({.least = {1007, 0, 0}}) == "1005 1007 3003 memory 32768 set 1000");
        CHECK(with({.least = {1007, 0, 2000}}) == "1005 1007 3003 memory 32768 set 2000");
        CHECK(with({.least = {1999, 65536, 2000}}) ==
              "1005 1007 1009 1010 3003 memory 65536 set 2000");
    }

    TEST_CASE("the stock and the given answers can be told apart") {
        CHECK(in_child([] {
                  set_answers({.least = {1009, 65536, 2000}});
                  const auto device_class = make_class("Device", nullptr, all_methods());
                  const auto device = make_device(device_class);
                  static_cast<void>(patch_device_class(device_class));
                  std::string text;
                  for (const auto method : {supports_family, threadgroup_memory, working_set}) {
                      const auto [stock, given] = answers_of(device, method);
                      text += std::to_string(stock) + " " + std::to_string(given) + " ";
                  }
                  return text;
              }) == "1005 1009 32768 65536 1000 2000 ");
    }

    TEST_CASE("a missing method or one of another type leaves the whole class stock") {
        constexpr const char* reason =
            "changed stock: a method of the device class is missing or has another type";
        for (const auto* types : {"", "Q16@0:8i16", "I16@0:8", "v16@0:8", "Q", "Q16@0#8", "@16@0:8",
                                  static_cast<const char*>(nullptr)}) {
            CAPTURE(std::string{types == nullptr ? "null" : types});
            CHECK(in_child([types] {
                      set_answers(kPublished);
                      auto methods = all_methods();
                      methods[1].types = types;
                      if (types != nullptr && *types == '\0') {
                          methods.erase(methods.begin() + 1);
                      }
                      const auto device_class = make_class("Device", nullptr, methods);
                      const auto device = make_device(device_class);
                      const auto result = text_of(patch_device_class(device_class));
                      return result +
                             (send<BOOL>(device, "supportsFamily:", Family{1009}) != NO
                                  ? "; raised"
                                  : "; stock") +
                             (claim_description(device_class) ? "; describe" : "");
                  }) == std::string(reason) + "; stock");
        }
    }

    TEST_CASE("a method that nobody asked to change may be missing") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  auto methods = all_methods();
                  methods.erase(methods.begin() + 2);
                  return text_of(patch_device_class(make_class("Device", nullptr, methods)));
              }) == "changed active");
    }

    TEST_CASE("when the last method cannot be replaced, the first are put back") {
        CHECK(in_child([] {
                  set_answers({.least = {1009, 65536, 2000}});
                  const auto base = make_class("Base", nullptr, all_methods());
                  const auto device_class = make_class("Device", base, {});
                  const auto device = make_device(device_class);
                  failing_selector = "recommendedMaxWorkingSetSize";
                  const auto result = text_of(patch_device_class(device_class));
                  failing_selector = nullptr;
                  const bool put_back = method_getImplementation(class_getInstanceMethod(
                                            device_class, sel_registerName("supportsFamily:"))) ==
                                        as_imp(&stock_family_answer);
                  return result + (put_back ? "; put back; " : "; left; ") + all_answers(device) +
                         "; " + text_of(patch_device_class(device_class)) + "; " +
                         all_answers(make_device(base));
              }) == std::string("changed stock: a method of the device class could not be "
                                "replaced; put back; ") +
                        kStock + "; stock; " + kStock);
    }

    TEST_CASE("a class whose superclass was changed too does not call itself for ever") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  static Class middle = nullptr;
                  const auto calls_super = [](id self, SEL selector, Family family) -> BOOL {
                      const auto inherited =
                          method_getImplementation(class_getInstanceMethod(middle, selector));
                      return as_function<BOOL(id, SEL, Family)>(inherited)(self, selector, family);
                  };
                  BOOL (*override_function)(id, SEL, Family) = calls_super;
                  middle = make_class("Middle", nullptr, all_methods());
                  const auto leaf =
                      make_class("Leaf", middle,
                                 {{"supportsFamily:", as_imp(override_function), "B24@0:8q16"}});
                  const auto results = text_of(patch_device_class(middle)) + "; " +
                                       text_of(patch_device_class(leaf));
                  return results + "; " + all_answers(make_device(leaf));
              }) == std::string("changed active; changed active; ") + kRaised);
    }

    TEST_CASE("more classes than there is room for stay stock") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  std::string text;
                  for (int number = 0; number < 10; ++number) {
                      const auto name = "Device" + std::to_string(number);
                      const auto made = make_class(name.c_str(), nullptr, all_methods());
                      text += patch_device_class(made).active ? "a" : "s";
                      text += all_answers(make_device(made)) == kRaised ? "+" : "-";
                  }
                  return text;
              }) == "a+a+a+a+a+a+a+a+s-s-");
    }

    TEST_CASE("threads that come to a class together all leave with it raised") {
        for (int round = 0; round < 20; ++round) {
            CHECK(in_child([] {
                      constexpr std::size_t kThreads = 4;
                      set_answers(kPublished);
                      const auto base = make_class("Base", nullptr, all_methods());
                      const auto device_class = make_class(
                          "Device", base,
                          {{"maxThreadgroupMemoryLength", as_imp(&stock_memory), "Q16@0:8"}});
                      std::atomic<std::size_t> waiting{kThreads};
                      std::atomic<int> changed{0};
                      std::atomic<int> raised{0};
                      std::vector<std::thread> threads;
                      threads.reserve(kThreads);
                      for (std::size_t count = 0; count < kThreads; ++count) {
                          threads.emplace_back([&] {
                              const auto device = make_device(device_class);
                              --waiting;
                              while (waiting != 0) {
                              }
                              changed += patch_device_class(device_class).changed ? 1 : 0;
                              raised += all_answers(device) == kRaised ? 1 : 0;
                          });
                      }
                      for (auto& thread : threads) {
                          thread.join();
                      }
                      return std::to_string(changed) + " " + std::to_string(raised);
                  }) == "1 4");
        }
    }

    TEST_CASE("the initialiser's hook runs the original, then hands over the device") {
        CHECK(in_child([] {
                  static std::string order;
                  void (*original)(id, SEL) = [](id, SEL) { order += "original "; };
                  const auto base = make_class(
                      "Base", nullptr, {{"initGPUFamilySupport", as_imp(original), "v16@0:8"}});
                  const auto device_class = make_class("Device", base, {});
                  void (*then)(id) = [](id device) {
                      order += class_getName(object_getClass(device));
                  };
                  const char* first = hook_initialiser(base, then);
                  const char* second = hook_initialiser(base, then);
                  send<void>(make_device(device_class), "initGPUFamilySupport");
                  return order + (first == nullptr && second == nullptr ? "" : " failed");
              }) == "original Device");
    }

    TEST_CASE("an initialiser that is missing or of another type is not hooked") {
        CHECK(in_child([] {
                  set_answers(kPublished);
                  auto methods = all_methods();
                  methods[3].types = "B16@0:8";
                  void (*then)(id) = [](id) {};
                  const char* other = hook_initialiser(make_class("Other", nullptr, methods), then);
                  methods.pop_back();
                  const char* none = hook_initialiser(make_class("None", nullptr, methods), then);
                  return std::string(other == nullptr || none == nullptr ? "hooked" : other);
              }) == "initGPUFamilySupport of '_MTLDevice' is missing or has another type");
    }

} // TEST_SUITE
