// SPDX-License-Identifier: MIT
//
// Each device class has a slot, and each slot has replacement functions of its own: a method that
// calls its superclass then reaches the original of that level, not its own again. The rules of the
// runtime that this relies on: class_addMethod refuses a method that the class itself has, and
// class_getInstanceMethod may give one of a superclass, which must not be changed.
#include "swizzle.hpp"

#include <atomic>
#include <cstring>
#include <utility>

namespace metalrun::shim {
namespace {

constexpr std::size_t kSlots = 8;
constexpr Family kApple1 = 1001;
constexpr Family kApple10 = 1010;

enum class State : std::uint8_t { undecided, active, refused };

struct Slot {
    std::atomic<Class> device_class{};
    std::atomic<State> state{};
    std::atomic<bool> described{};
    std::atomic<IMP> originals[method_count]{};
};

/// A selector, and the types that the encoding of its method may name.
struct MethodType {
    const char* selector;
    const char* returns;
    const char* argument; // null: none
};

constexpr MethodType kTypes[method_count] = {
    {.selector = "supportsFamily:", .returns = "BcC", .argument = "qQ"},
    {.selector = "maxThreadgroupMemoryLength", .returns = "Q", .argument = nullptr},
    {.selector = "recommendedMaxWorkingSetSize", .returns = "Q", .argument = nullptr}};
constexpr MethodType kInitialiser = {
    .selector = "initGPUFamilySupport", .returns = "v", .argument = nullptr};

using FamilyFunction = BOOL(id, SEL, Family);
using SizeFunction = Size(id, SEL);
using InitialiserFunction = void(id, SEL);

constinit Answers answers{};
constinit Slot slots[kSlots]{};
constinit std::atomic<IMP> initialiser_original{};
constinit std::atomic<void (*)(id)> after_initialiser{};

/// A replacement can be reached only after its original was stored, but a weakly ordered processor
/// may have run this load before the one that led to the replacement; the next load sees it.
IMP original(const std::atomic<IMP>& stored) noexcept {
    IMP implementation = nullptr;
    do {
        implementation = stored.load(std::memory_order_acquire);
    } while (implementation == nullptr);
    return implementation;
}

bool is_active(const Slot& slot) noexcept {
    return slot.state.load(std::memory_order_acquire) == State::active;
}

template <std::size_t slot> BOOL family_answer(id self, SEL command, Family family) {
    const IMP own = original(slots[slot].originals[supports_family]);
    const BOOL answer = as_function<FamilyFunction>(own)(self, command, family);
    const bool raised = family >= kApple1 &&
                        static_cast<Size>(family) <= answers.at_least[supports_family] &&
                        is_active(slots[slot]);
    return raised ? YES : answer;
}

template <std::size_t slot, DeviceMethod method> Size size_answer(id self, SEL command) {
    const IMP own = original(slots[slot].originals[method]);
    const Size answer = as_function<SizeFunction>(own)(self, command);
    const Size wanted = answers.at_least[method];
    return wanted > answer && is_active(slots[slot]) ? wanted : answer;
}

void init_gpu_family_support(id self, SEL command) {
    as_function<InitialiserFunction>(original(initialiser_original))(self, command);
    // Metal builds its feature cache from supportsFamily: next, so the class must answer by then.
    after_initialiser.load(std::memory_order_acquire)(self);
}

/// The tables hold typed pointers: IMPs would need a cast, and so a dynamic initialiser, which runs
/// after the shim's constructor.
template <std::size_t... slot>
IMP choose_replacement(std::size_t wanted, std::size_t method, std::index_sequence<slot...>) {
    static constexpr FamilyFunction* kFamilies[] = {&family_answer<slot>...};
    static constexpr SizeFunction* kThreadgroups[] = {&size_answer<slot, threadgroup_memory>...};
    static constexpr SizeFunction* kWorkingSets[] = {&size_answer<slot, working_set>...};
    return method == supports_family      ? as_imp(kFamilies[wanted])
           : method == threadgroup_memory ? as_imp(kThreadgroups[wanted])
                                          : as_imp(kWorkingSets[wanted]);
}

IMP replacement(std::size_t slot, std::size_t method) noexcept {
    return choose_replacement(slot, method, std::make_index_sequence<kSlots>{});
}

/// Takes one of the accepted types, and the frame offset behind it, from the encoding.
bool take_type(const char*& encoding, const char* accepted) noexcept {
    const bool matches = *encoding != '\0' && std::strchr(accepted, *encoding) != nullptr;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): walks a C string
    encoding += matches ? 1 + std::strspn(encoding + 1, "0123456789") : 0;
    return matches;
}

/// The method that the class answers the selector with, if it has the expected type.
Method find_method(Class device_class, const MethodType& type) noexcept {
    const auto method = class_getInstanceMethod(device_class, sel_registerName(type.selector));
    const char* encoding = method == nullptr ? nullptr : method_getTypeEncoding(method);
    const bool matches = encoding != nullptr && take_type(encoding, type.returns) &&
                         take_type(encoding, "@") && take_type(encoding, ":") &&
                         (type.argument == nullptr || take_type(encoding, type.argument)) &&
                         *encoding == '\0';
    return matches ? method : nullptr;
}

/// What that method runs; null without such a method.
IMP find_implementation(Class device_class, const MethodType& type) noexcept {
    const RuntimeLock lock;
    const auto method = find_method(device_class, type);
    return method == nullptr ? nullptr : method_getImplementation(method);
}

/// Makes the class itself answer the selector with the implementation, and reads that back.
bool put(Class device_class, const MethodType& type, IMP implementation) noexcept {
    const RuntimeLock lock;
    const SEL selector = sel_registerName(type.selector);
    const auto found = class_getInstanceMethod(device_class, selector);
    if (class_addMethod(device_class, selector, implementation, method_getTypeEncoding(found)) ==
        NO) {
        // Either the class has it, or memory ran out; then the method is a superclass's, not ours.
        const auto own = class_getInstanceMethod(device_class, selector);
        if (own == class_getInstanceMethod(class_getSuperclass(device_class), selector)) {
            return false;
        }
        set_own_implementation(device_class, own, implementation);
    }
    return method_getImplementation(class_getInstanceMethod(device_class, selector)) ==
           implementation;
}

/// Null, or why the class cannot be changed. Nothing is changed before every method was looked at.
const char* install(Class device_class, std::size_t slot) noexcept {
    for (std::size_t method = 0; method < method_count; ++method) {
        const IMP own = find_implementation(device_class, kTypes[method]);
        if (answers.at_least[method] != 0 && own == nullptr) {
            return "a method of the device class is missing or has another type";
        }
        IMP none = nullptr;
        if (own != replacement(slot, method)) { // else another thread is ahead of this one
            slots[slot].originals[method].compare_exchange_strong(none, own);
        }
    }
    for (std::size_t method = 0; method < method_count; ++method) {
        if (answers.at_least[method] != 0 &&
            !put(device_class, kTypes[method], replacement(slot, method))) {
            return "a method of the device class could not be replaced";
        }
    }
    return nullptr;
}

void roll_back(Class device_class, std::size_t slot) noexcept {
    const RuntimeLock lock;
    for (std::size_t method = 0; method < method_count; ++method) {
        const auto found = find_method(device_class, kTypes[method]);
        if (found != nullptr && method_getImplementation(found) == replacement(slot, method)) {
            set_own_implementation(device_class, found, original(slots[slot].originals[method]));
        }
    }
}

/// The slot of the class, taken for it if it has none yet; kSlots if all are in use.
std::size_t claim_slot(Class device_class) noexcept {
    std::size_t slot = 0;
    for (Class owner = nullptr; slot < kSlots; ++slot, owner = nullptr) {
        if (slots[slot].device_class.compare_exchange_strong(owner, device_class) ||
            owner == device_class) {
            break;
        }
    }
    return slot;
}

Size ask(id device, DeviceMethod method, IMP implementation) noexcept {
    const SEL selector = sel_registerName(kTypes[method].selector);
    if (method != supports_family) {
        return as_function<SizeFunction>(implementation)(device, selector);
    }
    Family family = kApple10;
    while (family >= kApple1 &&
           as_function<FamilyFunction>(implementation)(device, selector, family) == NO) {
        --family;
    }
    return family < kApple1 ? 0 : static_cast<Size>(family);
}

} // namespace

void set_answers(const Answers& wanted) noexcept {
    answers = wanted;
}

const char* hook_initialiser(Class base, void (*then)(id device)) noexcept {
    const IMP own = find_implementation(base, kInitialiser);
    if (own == nullptr) {
        return "initGPUFamilySupport of '_MTLDevice' is missing or has another type";
    }
    IMP none = nullptr;
    after_initialiser.store(then, std::memory_order_release);
    const bool first = initialiser_original.compare_exchange_strong(none, own);
    return !first || put(base, kInitialiser, as_imp(&init_gpu_family_support))
               ? nullptr
               : "initGPUFamilySupport of '_MTLDevice' could not be replaced";
}

PatchResult patch_device_class(Class device_class) noexcept {
    const std::size_t slot = claim_slot(device_class);
    if (slot == kSlots) {
        return {}; // more classes than a Mac has kinds of GPU: those beyond stay stock
    }
    State decided = slots[slot].state.load(std::memory_order_acquire);
    if (decided != State::undecided) {
        return {.active = decided == State::active};
    }
    const char* problem = install(device_class, slot);
    const State wanted = problem == nullptr ? State::active : State::refused;
    const bool changed = slots[slot].state.compare_exchange_strong(decided, wanted);
    if (changed && problem != nullptr) {
        roll_back(device_class, slot);
    }
    return {.changed = changed,
            .active = is_active(slots[slot]),
            .problem = changed ? problem : nullptr};
}

bool claim_description(Class device_class) noexcept {
    const std::size_t slot = claim_slot(device_class);
    return slot < kSlots && is_active(slots[slot]) && !slots[slot].described.exchange(true);
}

BeforeAndAfter answers_of(id device, DeviceMethod method) noexcept {
    const auto device_class = object_getClass(device);
    const IMP own = original(slots[claim_slot(device_class)].originals[method]);
    return {.stock = ask(device, method, own),
            .given = ask(device, method, find_implementation(device_class, kTypes[method]))};
}

} // namespace metalrun::shim
